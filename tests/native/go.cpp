// Go without Python: random games under all options, the ko rules, handicap, agreement.
#include "proofs.hpp"
#include "rule_cases.hpp"
#include "subjects/go.hpp"

namespace ggp::native {

namespace {

void check_ko() {
    const std::string ko = "B1 C1 A2 D2 B3 C3 D4 B2 C2";  // Black C2 takes B2
    const auto reason = [&](Ko rule) {
        const Go state = after(Go(5, 0, 0, rule, false), ko);
        require(state.captured() == std::pair(0, 1), "C2 takes B2");
        return refusal<IllegalMove>("B2", [&] { state.check("B2"); });
    };
    require(reason(Ko::simple) == "ko: this would recreate the board before the opponent's last move", "simple");
    require(reason(Ko::positional) == "positional superko: the board stood like this after ply 8", "positional");
    require(reason(Ko::situational) == "situational superko: the board stood with the same side to move after ply 8",
            "situational");
    Go start(2, 0, 0, Ko::positional, false);  // the corner that fills and empties
    play_all(start, "A1 B1 B2");
    require(!start.legal_moves().empty(), "there is always the pass");
    Go first(5, 0, 0, Ko::positional, false);
    first.set_up(board("..... ..... .XO.. X.XO. .XO.."), Colour::white);
    play_all(first, "B2");
    require(refusal<IllegalMove>("C2", [&] { first.check("C2"); }).ends_with("at the start"), "the first board stood");
    Go third(5, 0.5, 0, Ko::simple, false);
    // Three kos: the same board may stand three times, then the game is a draw.
    third.set_up(board("XO.XO .XOX. XO.XO ....."  " ....."), Colour::black);
    require(third.phase() == Phase::play, "a set-up game goes on");
}

void check_repetition_draws() {
    // Two sides that send each other round a triple ko under ko=simple: found by play, ended by the third time.
    Rng rng(5);
    for (int games = 0; games < 400; ++games) {
        Go state(2, 0, 0, Ko::simple, false);
        for (int ply = 0; ply < 200 && state.phase() != Phase::over; ++ply) state.play_random(rng, Policy::rollout);
        if (state.phase() == Phase::over && !state.last_move().empty()) {
            require(state.result() == "0" && state.winner() == 0 && state.leader() == Colour::none, "the third time");
            return;
        }
    }
    throw Failure("no game on 2x2 under ko=simple was drawn by repetition");
}

void check_handicap() {
    const Square square(9);
    Go fixed(9, 0, 2, Ko::simple, false), free(9, 0, 0, Ko::simple, false);
    free.place_handicap({square.name(fixed_handicap(square, 2)[0]), square.name(fixed_handicap(square, 2)[1])});
    require(free.hash() == fixed.hash() && free.to_play() == Colour::white, "fixed and free handicap");
    for (int stones = 2; stones <= 9; ++stones)
        require(fixed_handicap(Square(19), stones).size() == static_cast<std::size_t>(stones), "handicap points");
    refused<std::invalid_argument>("handicap must be 0 or 2..9", [&] { fixed_handicap(square, 1); });
    refused<std::invalid_argument>("handicap: there are no fixed points on boards smaller than 7x7, this is 6x6",
                                   [] { fixed_handicap(Square(6), 2); });
    refused<std::invalid_argument>("handicap must be 0 or 2..4 on 7x7", [] { fixed_handicap(Square(7), 5); });
    refused<std::invalid_argument>("handicap must be 0 or 2..4 on 8x8: a board of even size has no middle line",
                                   [] { fixed_handicap(Square(8), 5); });
    refused<IllegalMove>("handicap stones are placed on an empty board, before the first move",
                         [&] { free.place_handicap({"A1", "B1"}); });
    Go empty(2, 0, 0, Ko::simple, false);
    refused<IllegalMove>("a handicap is two stones or more", [&] { empty.place_handicap({"A1"}); });
    refused<IllegalMove>("a handicap must leave a point empty", [&] { empty.place_handicap({"A1", "A2", "B1", "B2"}); });
    refused<IllegalMove>("A1 is named twice", [&] { empty.place_handicap({"A1", "a1"}); });
}

void check_out_of_turn_and_set_up() {
    Go state(5, 0, 0, Ko::positional, false);
    state.set_to_play(Colour::white);
    state.set_to_play(Colour::white);
    require(state.to_play() == Colour::white, "White plays first");
    play_all(state, "A1");
    refused<std::invalid_argument>("a position is set up on an empty board, before the first move",
                                   [&] { state.set_up(std::string(25, '.'), Colour::black); });
    Go fresh(5, 0, 0, Ko::positional, false);
    refused<std::invalid_argument>("A5 has no liberty",
                                   [&] { fresh.set_up(board("XO... O.... ..... ..... ....."), Colour::black); });
    refused<std::invalid_argument>("komi must be a number", [&] { fresh.set_komi(1.0 / 0.0); });
    refused<std::invalid_argument>("size must be 2..25", [] { Go(1, 0, 0, Ko::simple, false); });
    Go agree = after(Go(5, 0, 0, Ko::positional, true), "A1 pass pass");
    refused<IllegalMove>("the sides answer in turn in the agreement phase", [&] { agree.set_to_play(Colour::black); });
    refused<IllegalMove>("A2 is empty: name a stone of a dead group", [&] { agree.check("dead:A2"); });
    refused<IllegalMove>("the list of dead groups is too long",
                         [&] { agree.check("dead:" + std::string(max_move_text, 'A')); });
    play_all(agree, "dead:A1 dead:A1");
    require(agree.result() == "0" && agree.board() == std::string(25, '.'), "the agreed stone is removed");
    refused<IllegalMove>("the game is over", [&] { agree.set_to_play(Colour::black); });
    Go two = after(Go(5, 0, 0, Ko::positional, true), "A1 C3 pass A2 pass pass");
    play_all(two, "dead:A1,A2,C3 dead:A1,A2,C3");
    require(two.board() == std::string(25, '.'), "several groups are removed");
}

// The words of stones around points, kept up to date, against a look at the board.
void check_surroundings() {
    Rng rng(3);
    for (const int size : {2, 3, 9, 25}) {
        const Square square(size);
        const auto& points = square.by_name();
        Chains chains(size);
        Surroundings around(size);
        for (int step = 0; step < 20 * size; ++step) {
            const Point p = points[rng.below(static_cast<std::uint32_t>(points.size()))];
            if (chains.at(p) == no_stone) {
                const Stone stone = rng.below(2) == 0 ? black_stone : white_stone;
                chains.put(p, stone), around.change(p, stone);
            } else {
                chains.each_stone(p, [&](Point s) { around.change(s, chains.at(s)); });
                chains.lift(p);
            }
            for (const Point q : points) {
                const auto beside = chains.beside(q);
                const auto is_empty = [&](Point s) { return chains.at(s) == no_stone; };
                require(around.is_roomy(q) == (std::count_if(beside.begin(), beside.end(), is_empty) >= 2), "roomy");
                for (const Stone stone : {black_stone, white_stone})
                    require(around.is_eye(q, stone) == chains.is_eye(q, stone), "an eye is one");
            }
        }
    }
}

}  // namespace

void prove_go(const Effort& effort) {
    check_surroundings();
    check_ko();
    check_repetition_draws();
    check_handicap();
    check_out_of_turn_and_set_up();
    walk_all(go_subject(), effort);
}

}  // namespace ggp::native
