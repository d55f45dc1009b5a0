// What a playout costs beside the random game is here: the choice of a child, PUCT with AMAF, and the count of AMAF.
// Several children are looked at in one go: four, or eight where the processor has AVX2. Both do exactly the same.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "game_state.hpp"
#include "tree_node.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define GGP_HAS_EIGHT 1
#include <immintrin.h>
#endif

namespace ggp {

// What the children of a node have in common where one of them is chosen.
struct Choice {
    // Found by play of the built-in games against each other; tests/bench measures what they cost.
    static constexpr float amaf_lasts = 2000;  // visits after which AMAF counts half
    static constexpr float prior_visits = 5;   // an untried move has the value of its parent

    Colour mover;
    float prior;        // prior_visits times the worth of the parent, doubled
    float exploration;  // the weight of what was seldom tried, with the parent's visits
    bool even;          // the most even move is looked for, not the best
    bool careful;       // that, or a child is proven
};

// The children of a node: the numbers of each, kind by kind. There is at least one.
template <class Move>
struct Children {
    Children(const Nodes<Move>& nodes, std::size_t first, std::size_t count)
        : visits(&nodes.visits[first]), points(&nodes.points[first]), amaf_visits(&nodes.amaf_visits[first]),
          amaf_points(&nodes.amaf_points[first]), links(&nodes.links[first]), count(static_cast<std::int32_t>(count)) {}

    const std::int32_t *visits, *points, *amaf_visits, *amaf_points;
    const typename Nodes<Move>::Link* links;
    std::int32_t count;
};

namespace detail {
using Floats = float __attribute__((vector_size(16)));
using Ints = std::int32_t __attribute__((vector_size(16)));

inline Floats four(const std::int32_t* numbers) {
    Ints ints;
    std::memcpy(&ints, numbers, sizeof ints);
    return __builtin_convertvector(ints, Floats);
}

// The place of the highest worth, of equals the least one. Without a branch, for none could be foreseen.
inline std::uint32_t first_highest(Floats worths, Ints places) {
    const auto larger = [](Floats a, Floats b) { return a > b ? a : b; };
    const auto less = [](Ints a, Ints b) { return a < b ? a : b; };
    Floats most = larger(worths, __builtin_shufflevector(worths, worths, 2, 3, 0, 1));
    most = larger(most, __builtin_shufflevector(most, most, 1, 0, 3, 2));
    places = worths == most ? places : Ints{} + INT32_MAX;
    places = less(places, __builtin_shufflevector(places, places, 2, 3, 0, 1));
    return static_cast<std::uint32_t>(less(places, __builtin_shufflevector(places, places, 1, 0, 3, 2))[0]);
}
}  // namespace detail

// The index of a child. AMAF has the weight that Gelly and Silver give it (2011): a / (a + n + a n / c), n visits and a
// of AMAF. PUCT has equal priors, 1 over the number of moves (Rosin 2011). All terms are multiplied out, so that one
// division does. Numbers behind the last child are read, and left out.
template <class Move>
std::uint32_t best_of_fours(const Children<Move>& children, const Choice& choice) {
    using namespace detail;
    const bool black = choice.mover == Colour::black;
    const Proof lost = won_by(other(choice.mover));
    Floats highest = Floats{} - 4;  // of each fourth child, the first of equals, and which that is
    Ints best{};
    for (std::int32_t i = 0; i < children.count; i += 4) {
        const Floats n = four(children.visits + i), mine = four(children.points + i);
        const Floats a = four(children.amaf_visits + i), amaf = four(children.amaf_points + i);
        const Floats stretch = 1 + a * (1 / Choice::amaf_lasts);
        Floats points = (black ? mine : 2 * n - mine) * stretch + (black ? amaf : 2 * a - amaf) + choice.prior;
        const Floats weight = n * stretch + a + Choice::prior_visits;
        if (choice.even) points = 2 * weight - points < points ? 2 * weight - points : points;
        Floats worths = (points * (1 + n) + 2 * choice.exploration * weight) / (weight * (1 + n));
        const Ints places = Ints{0, 1, 2, 3} + i;
        if (choice.careful)
            for (std::int32_t k = 0; k < 4 && i + k < children.count; ++k)
                if (const Proof proof = children.links[i + k].proof; proof != Proof::open)
                    worths[k] = proof == Proof::draw ? 1.0F : proof == lost || choice.even ? -2.0F : 4.0F;
        const Ints higher = (worths > highest) & (places < children.count);
        highest = higher ? worths : highest;
        best = higher ? places : best;
    }
    return first_highest(highest, best);
}

// Of the children of one node those count that were made in a playout: `marks` has of their key the mark `made`.
inline void count_amaf_one_by_one(std::int32_t* visits, std::int32_t* points, const std::uint16_t* keys, std::size_t count,
                                  const std::uint32_t* marks, std::uint32_t made, std::int32_t won) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t hit = marks[keys[i]] == made;
        visits[i] += hit, points[i] += -hit & won;
    }
}

#ifdef GGP_HAS_EIGHT
// The same as best_of_fours, of children none of which is proven. It calls nothing that has vectors: a compiler takes
// those apart that are wider than what a function is compiled for before it puts that function into another.
template <Colour mover, class Move>
[[gnu::target("avx2")]] std::uint32_t best_of_eights(const Children<Move>& children, const Choice& choice) {
    using Floats = float __attribute__((vector_size(32)));
    using Ints = std::int32_t __attribute__((vector_size(32)));
    Floats highest = Floats{} - 4;
    Ints best{}, places{0, 1, 2, 3, 4, 5, 6, 7};
    for (std::int32_t i = 0; i < children.count; i += 8, places += 8) {
        std::array<Ints, 4> read;
        std::memcpy(&read[0], children.visits + i, sizeof(Ints));
        std::memcpy(&read[1], children.points + i, sizeof(Ints));
        std::memcpy(&read[2], children.amaf_visits + i, sizeof(Ints));
        std::memcpy(&read[3], children.amaf_points + i, sizeof(Ints));
        const Floats n = __builtin_convertvector(read[0], Floats), mine = __builtin_convertvector(read[1], Floats);
        const Floats a = __builtin_convertvector(read[2], Floats), amaf = __builtin_convertvector(read[3], Floats);
        const Floats stretch = 1 + a * (1 / Choice::amaf_lasts);
        const Floats won = mover == Colour::black ? mine : 2 * n - mine;
        const Floats amaf_won = mover == Colour::black ? amaf : 2 * a - amaf;
        const Floats points = won * stretch + amaf_won + choice.prior;
        const Floats weight = n * stretch + a + Choice::prior_visits;
        const Floats worths = (points * (1 + n) + 2 * choice.exploration * weight) / (weight * (1 + n));
        const Ints higher = (worths > highest) & (places < children.count);
        highest = higher ? worths : highest;
        best = higher ? places : best;
    }
    const detail::Floats worth = __builtin_shufflevector(highest, highest, 0, 1, 2, 3);
    const detail::Floats upper_worth = __builtin_shufflevector(highest, highest, 4, 5, 6, 7);
    const detail::Ints place = __builtin_shufflevector(best, best, 0, 1, 2, 3);
    const detail::Ints upper_place = __builtin_shufflevector(best, best, 4, 5, 6, 7);
    const detail::Ints upper = (upper_worth > worth) | ((upper_worth == worth) & (upper_place < place));
    return detail::first_highest(upper ? upper_worth : worth, upper ? upper_place : place);
}

// The same as count_amaf_one_by_one. What lies behind the last child is read and written again as it is.
[[gnu::target("avx2")]] inline void count_amaf_by_eights(std::int32_t* visits, std::int32_t* points,
                                                         const std::uint16_t* keys, std::size_t count,
                                                         const std::uint32_t* marks, std::uint32_t made, std::int32_t won) {
    const __m256i mark = _mm256_set1_epi32(static_cast<int>(made)), half_points = _mm256_set1_epi32(won);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (std::size_t i = 0; i < count; i += 8) {
        const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(keys + i));
        const __m256i seen = _mm256_i32gather_epi32(reinterpret_cast<const int*>(marks), _mm256_cvtepu16_epi32(eight), 4);
        const __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count - i)), lanes);
        const __m256i hit = _mm256_and_si256(_mm256_cmpeq_epi32(seen, mark), there);
        auto* const to_visits = reinterpret_cast<__m256i*>(visits + i);
        auto* const to_points = reinterpret_cast<__m256i*>(points + i);
        _mm256_storeu_si256(to_visits, _mm256_sub_epi32(_mm256_loadu_si256(to_visits), hit));
        _mm256_storeu_si256(to_points,
                            _mm256_add_epi32(_mm256_loadu_si256(to_points), _mm256_and_si256(hit, half_points)));
    }
}

inline const bool has_avx2 = __builtin_cpu_supports("avx2");
#endif

template <class Move>
std::uint32_t best_child(const Children<Move>& children, const Choice& choice) {
#ifdef GGP_HAS_EIGHT
    if (has_avx2 && !choice.careful)
        return choice.mover == Colour::black ? best_of_eights<Colour::black>(children, choice)
                                             : best_of_eights<Colour::white>(children, choice);
#endif
    return best_of_fours(children, choice);
}

inline void count_amaf(std::int32_t* visits, std::int32_t* points, const std::uint16_t* keys, std::size_t count,
                       const std::uint32_t* marks, std::uint32_t made, std::int32_t won) {
#ifdef GGP_HAS_EIGHT
    if (has_avx2) return count_amaf_by_eights(visits, points, keys, count, marks, made, won);
#endif
    count_amaf_one_by_one(visits, points, keys, count, marks, made, won);
}

}  // namespace ggp
