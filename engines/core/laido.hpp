// Laido (Saïd Galdseid, 2024): lean connections between edge stones of a hexagon.
// The rules: docs/reference/games/laido.md.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "game_state.hpp"
#include "hexagon.hpp"
#include "laido_potential.hpp"
#include "laido_values.hpp"
#include "opening.hpp"
#include "zobrist.hpp"

namespace ggp {

// Who gets half a point where all values are equal: who made the first of the two final passes, or of all passes.
enum class HalfPoint : std::uint8_t { final, first };

// Stones never leave the board and nothing is counted before the end, so a position is its stones and the list of its
// empty points, in any order: a random point is drawn from the list, and the last one takes its place.
// A move is a Point, `pass` or `swap_sides`.
class Laido : public GameBase<Laido, std::int16_t> {
  public:
    static constexpr Move pass = 0, swap_sides = -1;
    static constexpr std::size_t keys = max_hexagon_area;

    // Throws std::invalid_argument if an option is out of its domain.
    Laido(int size, bool pie, HalfPoint half_point);

    Phase phase() const { return turns_.phase(); }
    Colour to_play() const { return turns_.to_play(); }
    int seat() const { return turns_.seat(); }
    int ply() const { return ply_; }
    int size() const { return hexagon_.side(); }
    int cells() const { return hexagon_.cells(); }
    Colour leader() const;
    int winner() const { return phase() == Phase::over ? turns_.seat_of(leader()) : 0; }
    std::string result() const { return phase() == Phase::over ? standing() : ""; }
    std::string standing() const;  // the result if the game ended as it stands; "0" where neither side has the half point
    std::uint64_t hash() const;
    std::string board() const;
    std::vector<std::string> last_move() const;
    std::pair<int, int> captured() const { return {0, 0}; }
    Score score() const;
    Colour half_point() const { return rule_ == HalfPoint::final ? turns_.first_passer() : first_passer_; }

    Move read(std::string_view text) const;  // throws IllegalMove
    void list_moves(std::vector<Move>& moves) const;
    std::string_view text(Move move) const;
    void apply(Move move);
    std::uint16_t key(Move move) const { return static_cast<std::uint16_t>(std::max<Move>(move, 0)); }
    // For a search (tree.hpp). A stone that gains nothing, not even as one that is alone, and keeps the opponent from
    // nothing: a pass, or the move that its player would make next, is as good.
    bool dominated(Move move) {
        if (move <= 0 || opening()) return false;
        update_potential();
        const auto p = static_cast<Point>(move);
        return !potential_.at(p, Colour::black) && !potential_.at(p, Colour::white) && around(p, Colour::black) != 0 &&
               around(p, Colour::white) != 0;
    }
    // One that hinders neither side, and is surplus or without potential.
    bool unlikely(Move move) {
        if (move <= 0) return false;
        update_potential();
        const auto p = static_cast<Point>(move);
        const Colour side = turns_.to_play();
        return !potential_.at(p, other(side)) && (!potential_.at(p, side) || wasteful(p));
    }
    // Who wins however the opponent plays on; none if that is not plain.
    Colour certain_winner();
    Move play_random(Rng& rng, Policy policy);

    // Begins with that board (as board() writes it) and side, after the opening. Before ply 0; std::invalid_argument.
    void set_up(std::string_view cells, Colour side);

  private:
    static constexpr std::uint64_t seed = 0x4c6169646f;  // sets the hashes of this game apart
    static constexpr auto zobrist = zobrist_keys<3, max_hexagon_area>(seed);

    void put(Point p, Colour colour);
    void do_pass();
    unsigned around(Point p, Colour colour) const;
    Move rejoin(Rng& rng) const;
    Move draw(Rng& rng) const;
    bool opening() const { return turns_.first_stone() || turns_.may_swap(); }
    void update_potential() {
        potential_.look(hexagon_, stones_, Colour::black);
        potential_.look(hexagon_, stones_, Colour::white);
    }
    bool wasteful(Point p) const { return wasteful(p, around(p, turns_.to_play())); }
    bool wasteful(Point p, unsigned own) const;
    void add_values(GroupValues& black, GroupValues& white) const;
    int margin() const;  // the first difference of the values, Black's less White's

    Hexagon hexagon_;
    PieTurns turns_;
    HalfPoint rule_;
    Colour first_passer_ = Colour::none;  // of the whole game
    Point last_ = 0;
    int ply_ = 0, empties_ = 0;
    HexagonStones stones_;
    LaidoConnections connections_;
    LaidoPotential potential_;
    std::array<Point, max_hexagon_cells> empty_;
    std::array<Point, max_hexagon_area> place_;  // of an empty point in empty_
};

inline Laido::Laido(int size, bool pie, HalfPoint half_point)
    : hexagon_(checked_side(size)), turns_(pie), rule_(half_point) {
    set_up(std::string(hexagon_.by_row().size(), '.'), Colour::black);
    turns_ = PieTurns(pie);
}

inline void Laido::set_up(std::string_view cells, Colour side) {
    if (ply_ != 0) throw std::invalid_argument("a position is set up before the first move");
    HexagonStones stones;
    read_board(hexagon_, ".XO", cells, [&](Point p, std::size_t kind) {
        if (kind != 0) stones.put(p, static_cast<Colour>(kind));
    });
    stones_ = {};
    potential_ = {};
    empties_ = 0;
    for (const Point p : hexagon_.by_row()) {
        if (const Colour colour = stones.at(p); colour != Colour::none) {
            stones_.put(p, colour);
            connections_.put(p, hexagon_, stones_);
        } else {
            place_[p] = static_cast<Point>(empties_);
            empty_[static_cast<std::size_t>(empties_++)] = p;
        }
    }
    turns_.set_up(side);
}

inline Laido::Move Laido::read(std::string_view text) const {
    const PieTurns::Word word = turns_.read(text);
    if (word == PieTurns::Word::pass) return pass;
    if (word == PieTurns::Word::swap) return swap_sides;
    const Point p = hexagon_.parse(text);
    if (stones_.at(p) != Colour::none) throw IllegalMove(hexagon_.name(p) + " is occupied");
    return static_cast<Move>(p);
}

inline void Laido::apply(Move move) {
    ++ply_;
    last_ = 0;
    if (move == pass) return do_pass();
    if (move == swap_sides) return turns_.swapped();
    last_ = static_cast<Point>(move);
    put(last_, turns_.to_play());
    turns_.moved();
}

inline void Laido::put(Point p, Colour colour) {
    stones_.put(p, colour);
    connections_.put(p, hexagon_, stones_);
    potential_.placed(p, hexagon_, colour, connections_.edge_stones(p) >= 2);
    const Point last = empty_[static_cast<std::size_t>(--empties_)];
    empty_[place_[p]] = last;
    place_[last] = place_[p];
}

inline void Laido::do_pass() {
    if (first_passer_ == Colour::none) first_passer_ = turns_.to_play();
    turns_.passed();
}

// rollout: where there are potential, what the opponent's last stone is about to part is joined, else a stone is drawn;
// without potential, a pass.
inline Laido::Move Laido::play_random(Rng& rng, Policy policy) {
    const auto empties = static_cast<std::uint32_t>(empties_);
    Move move = pass;
    if (policy == Policy::uniform || turns_.first_stone()) {
        const std::uint32_t drawn = rng.below(empties + turns_.may_pass() + turns_.may_swap());
        move = drawn < empties ? static_cast<Move>(empty_[drawn]) : drawn == empties ? pass : swap_sides;
    } else {
        potential_.look(hexagon_, stones_, turns_.to_play());
        if (potential_.any(turns_.to_play())) {
            move = rejoin(rng);
            if (move == pass) move = draw(rng);
        }
    }
    apply(move);
    return move;
}

// The neighbours that are stones of that colour, as bits in the order of the steps, which is a circle.
inline unsigned Laido::around(Point p, Colour colour) const {
    const auto steps = hexagon_.steps();
    unsigned stones = 0;
    for (unsigned d = 0; d < 6; ++d)
        stones |= static_cast<unsigned>(stones_.at(static_cast<Point>(p + steps[d])) == colour) << d;
    return stones;
}

// An empty point with potential beside the last stone and, on either side of it, an own one: there the opponent would
// cut them apart ("save bridge" of programs for Hex). Pass if there is none; of several any.
inline Laido::Move Laido::rejoin(Rng& rng) const {
    if (last_ == 0) return pass;
    const auto steps = hexagon_.steps();
    const unsigned own = around(last_, turns_.to_play()), twice = own | own << 6;
    unsigned cuts = twice >> 1 & twice >> 5 & 63;  // none is a wall: walls have walls beside them
    for (unsigned left = cuts; left != 0; left &= left - 1) {
        const auto d = static_cast<std::size_t>(std::countr_zero(left));
        const auto p = static_cast<Point>(last_ + steps[d]);
        if (stones_.at(p) != Colour::none || !potential_.at(p, turns_.to_play())) cuts ^= 1U << d;
    }
    if (cuts == 0) return pass;
    for (std::uint32_t skip = rng.below(static_cast<std::uint32_t>(std::popcount(cuts))); skip > 0; --skip)
        cuts &= cuts - 1;
    return static_cast<Move>(last_ + steps[static_cast<std::size_t>(std::countr_zero(cuts))]);
}

// Of at most three random points with potential that are not wasteful, one that joins own stones, else the first. It
// draws four times as often as there are empty points: where hardly any is such a point, it may pass by chance.
inline Laido::Move Laido::draw(Rng& rng) const {
    constexpr int most_candidates = 3;
    Move first = pass;
    for (int draw = 0, candidates = 0; draw < 4 * empties_ && candidates < most_candidates; ++draw) {
        const Point p = empty_[rng.below(static_cast<std::uint32_t>(empties_))];
        if (!potential_.at(p, turns_.to_play())) continue;
        const unsigned own = around(p, turns_.to_play());
        if (wasteful(p, own)) continue;
        if ((own & (own - 1)) != 0) return static_cast<Move>(p);
        if (candidates++ == 0) first = static_cast<Move>(p);
    }
    return first;
}

// A stone there is surplus: beside two own stones that touch each other, or an edge stone that shortens a chain to its
// neighbour.
inline bool Laido::wasteful(Point p, unsigned own) const {
    if ((own & (own << 1 | own >> 5)) != 0) return true;
    if (!hexagon_.on_edge(p)) return false;
    for (; own != 0; own &= own - 1) {
        const int step = hexagon_.steps()[static_cast<std::size_t>(std::countr_zero(own))];
        if (hexagon_.on_edge(static_cast<Point>(p + step))) return true;
    }
    return false;
}

inline void Laido::list_moves(std::vector<Move>& moves) const {
    if (phase() == Phase::over) return;
    for (const Point p : hexagon_.by_name())
        if (stones_.at(p) == Colour::none) moves.push_back(static_cast<Move>(p));
    if (turns_.may_pass()) moves.push_back(pass);
    if (turns_.may_swap()) moves.push_back(swap_sides);
}

inline std::string_view Laido::text(Move move) const {
    if (move > 0) return hexagon_.name(static_cast<Point>(move));
    return move == pass ? "pass" : "swap-sides";
}

inline void Laido::add_values(GroupValues& black, GroupValues& white) const {
    LaidoGroups(hexagon_, stones_, Colour::black).add_values(black);
    LaidoGroups(hexagon_, stones_, Colour::white).add_values(white);
}

inline int Laido::margin() const {
    GroupValues black, white;
    add_values(black, white);
    return compare(black, white);
}

// Who leads wins by passes if nothing that the other side can hope for is enough. Where both lists are equal and can
// only become less, who has the half point wins, or who passes now and so gets it.
inline Colour Laido::certain_winner() {
    if (phase() == Phase::over || opening()) return Colour::none;
    update_potential();
    GroupValues black, white;
    add_values(black, white);
    const int difference = compare(black, white);
    const bool black_rises = potential_.any(Colour::black) || black.any_below(-1);
    const bool white_rises = potential_.any(Colour::white) || white.any_below(-1);
    if (difference == 0) {
        if (black_rises || white_rises) return Colour::none;
        return half_point() != Colour::none ? half_point() : to_play();
    }
    const Colour behind = difference > 0 ? Colour::white : Colour::black;
    if (behind == Colour::white ? white_rises : black_rises) {
        GroupValues& hopes = behind == Colour::white ? white : black;
        hopes.drop_negative();
        potential_.add_hopes(hexagon_, behind, hopes);
        const int then = compare(black, white);
        if (behind == Colour::white ? then <= 0 : then >= 0) return Colour::none;
    }
    return other(behind);
}

inline Colour Laido::leader() const {
    const int difference = margin();
    return difference > 0 ? Colour::black : difference < 0 ? Colour::white : half_point();
}

inline std::string Laido::standing() const {
    const int difference = margin();
    if (difference != 0) return (difference > 0 ? "B+" : "W+") + std::to_string(std::abs(difference));
    const Colour holder = half_point();
    return holder == Colour::none ? "0" : holder == Colour::black ? "B+0.5" : "W+0.5";
}

// The lists are compared, never summed, so there is no total.
inline Score Laido::score() const {
    GroupValues black, white;
    add_values(black, white);
    const auto parts = [&](Colour colour, const GroupValues& values) {
        return ScoreParts{{}, {{"half_point", half_point() == colour ? 0.5 : 0}}, {{"groups", values.descending()}}};
    };
    return {parts(Colour::black, black), parts(Colour::white, white)};
}

inline std::uint64_t Laido::hash() const {
    std::uint64_t board = 0;
    for (const Point p : hexagon_.by_row()) {
        const Colour colour = stones_.at(p);
        board ^= colour == Colour::none ? 0 : zobrist[static_cast<std::size_t>(colour)][p];
    }
    Digest digest(board ^ seed);
    turns_.digest(digest);
    digest.add(static_cast<std::uint64_t>(size()) | static_cast<std::uint64_t>(rule_) << 8 |
               static_cast<std::uint64_t>(half_point()) << 16);
    return digest.value();
}

inline std::string Laido::board() const {
    return write_board(hexagon_, ".XO", [this](Point p) { return static_cast<int>(stones_.at(p)); });
}

inline std::vector<std::string> Laido::last_move() const {
    return last_ == 0 ? std::vector<std::string>{} : std::vector<std::string>{hexagon_.name(last_)};
}

static_assert(GameState<Laido>);

}  // namespace ggp
