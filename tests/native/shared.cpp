// What the games of the core share, where no game's walk reaches it: numbers, chance, words, geometry.
#include <cmath>
#include <set>

#include "engines/core/best_child.hpp"
#include "engines/core/decimal.hpp"
#include "engines/core/hexagon.hpp"
#include "engines/core/history.hpp"
#include "engines/core/rng.hpp"
#include "engines/core/square.hpp"
#include "proofs.hpp"

namespace ggp::native {

namespace {

void check_numbers() {
    require(decimal(3.0, 1) == "3" && decimal(3.5, 1) == "3.5" && decimal(-0.0, 2) == "0", "decimal");
    require(decimal(10, 0) == "10" && decimals(6.3) == 1 && decimals(7) == 0, "decimals");
    require(tidy(4.699999999999999, 1) == 4.7, "tidy");
}

void check_chance() {
    Rng rng(1), same(1);
    std::array<int, 7> seen{};
    for (int i = 0; i < 7000; ++i) {
        const std::uint32_t drawn = rng.below(7);
        require(drawn == same.below(7), "the same seed draws the same");
        ++seen[drawn];
    }
    for (const int count : seen) require(std::abs(count - 1000) < 200, "below is about uniform");
    bool redrawn = false;  // 2^32 - 1 leaves a remainder: some draws are rejected, none is out of range
    for (int i = 0; i < 100; ++i) redrawn |= rng.below(3'000'000'000U) >= 3'000'000'000U;
    require(!redrawn, "below is in range");
}

void check_history() {
    History history;
    for (std::uint64_t i = 1; i <= 500; ++i) require(history.add(mix64(i), static_cast<int>(i)) == 1, "first time");
    require(history.add(mix64(3), 501) == 2 && history.add(mix64(3), 502) == 3, "second, third");
    require(history.add(mix64(3), 503) == 3 && history.count(mix64(3)) == 3, "three stands for more");
    require(history.first_ply(mix64(3)) == 3 && history.first_ply(mix64(9999)) == -1, "the first ply");
    history.ready_for_playouts(5000);
    require(history.count(mix64(3)) == 3 && history.first_ply(mix64(3)) == -1, "no log in playouts");
}

void check_hexagons() {
    for (int side = min_side; side <= max_side; ++side) {
        const Hexagon hexagon(side);
        require(hexagon.cells() == static_cast<int>(hexagon.by_name().size()), "3s(s-1)+1 cells");
        std::set<std::string> names;
        int edge = 0;
        for (const Point p : hexagon.by_row()) {
            names.insert(hexagon.name(p));
            edge += hexagon.on_edge(p);
            require(hexagon.at(hexagon.q(p), hexagon.r(p)) == p && hexagon.parse(hexagon.name(p)) == p, "names");
            require(hexagon.on_board(hexagon.q(p), hexagon.r(p)), "on the board");
            for (std::size_t i = 0; i < 6; ++i)
                require(hexagon.steps()[i] == -hexagon.steps()[(i + 3) % 6], "opposite steps are three apart");
        }
        require(names.size() == hexagon.by_row().size() && edge == 6 * (side - 1), "the edge");
        require(std::is_sorted(hexagon.by_name().begin(), hexagon.by_name().end(),
                               [&](Point a, Point b) { return hexagon.name(a) < hexagon.name(b); }), "by name");
    }
    const Hexagon five(5);
    require(five.name(five.at(0, 0)) == "E5", "the centre of side 5");
    refused<IllegalMove>("A1 is not on the board: a hexagon with 5 on a side", [&] { five.parse("a1"); });
    refused<std::invalid_argument>("size must be 2..13", [] { checked_side(14); });
    require(checked_side(13) == 13, "13 is a side");
    const std::string cells = write_board(five, ".XO", [&](Point p) { return p % 3; });
    int read = 0;
    read_board(five, ".XO", cells, [&](Point p, std::size_t kind) { read += kind == p % 3U; });
    require(read == five.cells(), "a board as text and back");
    const auto ignore = [](Point, std::size_t) {};
    refused<std::invalid_argument>("a board has 61 characters", [&] { read_board(five, ".XO", "...", ignore); });
    refused<std::invalid_argument>("a board is written with .XO",
                                   [&] { read_board(five, ".XO", std::string(61, 'q'), ignore); });
}

void check_squares() {
    const Square square(9);
    refused<IllegalMove>("J12 is not on the board: the board is 9x9", [&] { square.parse("j12"); });
    refused<IllegalMove>("there is no column I: the letters skip it", [&] { square.parse("i5"); });
    for (const char* const text : {"", "A", "A0", "AA", "1A", "A100", "@1", "D4 "})
        refused<IllegalMove>("not a move: a point is written like D4", [&] { square.parse(text); });
    require(name(Phase::choose) == std::string("choose") && name(Colour::none) == std::string("none"), "words");
}


// What a processor without AVX2 does, one with it does as well: of any number of children, also with equal ones.
void check_children() {
#ifdef GGP_HAS_EIGHT
    if (!has_avx2) return;
    Rng rng(1);
    for (std::size_t round = 0; round < 2000; ++round) {
        const std::size_t first = rng.below(3), count = 1 + round % 150;
        Nodes<int> nodes;
        nodes.resize(first + count);
        const std::uint32_t most = round % 3 == 0 ? 2 : 100'000;  // few different ones, or many
        std::vector<std::uint32_t> marks(200);
        for (std::uint32_t& mark : marks) mark = rng.below(3);
        for (std::size_t i = 0; i < first + count; ++i) {
            nodes.visits[i] = static_cast<std::int32_t>(rng.below(most));
            nodes.points[i] = static_cast<std::int32_t>(rng.below(2 * static_cast<std::uint32_t>(nodes.visits[i]) + 1));
            nodes.amaf_visits[i] = static_cast<std::int32_t>(rng.below(most));
            nodes.amaf_points[i] = nodes.amaf_visits[i];
            nodes.keys[i] = static_cast<std::uint16_t>(rng.below(200));
        }
        const Children children(nodes, first, count);
        const Choice black{Colour::black, 5, 0.1F, false, false}, white{Colour::white, 4, 0.2F, false, false};
        require(best_of_eights<Colour::black>(children, black) == best_of_fours(children, black), "Black's choice");
        require(best_of_eights<Colour::white>(children, white) == best_of_fours(children, white), "White's choice");
        Nodes<int> same = nodes;
        const auto count_in = [&](Nodes<int>& of, auto by) {
            by(&of.amaf_visits[first], &of.amaf_points[first], &of.keys[first], count, marks.data(), 1U, 2);
        };
        count_in(nodes, count_amaf_by_eights);
        count_in(same, count_amaf_one_by_one);
        require(nodes.amaf_visits == same.amaf_visits && nodes.amaf_points == same.amaf_points, "AMAF");
    }
#endif
}
}  // namespace

void prove_shared_parts() {
    check_children();
    check_numbers();
    check_chance();
    check_history();
    check_hexagons();
    check_squares();
}

}  // namespace ggp::native
