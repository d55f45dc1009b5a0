// Yugo without Python: random games under all options, and the rules' own examples.
#include "proofs.hpp"
#include "rule_cases.hpp"
#include "subjects/yugo.hpp"

namespace ggp::native {

namespace {

Yugo set_up(int size, const char* drawing, Colour side, std::int64_t komi = 7) {
    Yugo state(size, komi, 0, false);
    state.set_up(board(drawing), side);
    return state;
}

void check_examples() {
    const Yugo a = set_up(9,
                          "......... ......... XXX...... OO@XX.... O.@OOX... XOO@XX... .X#X..... ......... .........",
                          Colour::black);
    expect_board(after(a, "B5"), "......... ......... XXX...... ..@XX.... .#@..X... X..@XX... .X#X..... ......... .........");
    require(after(a, "B5").captured() == std::pair(0, 7), "seven white pawns are taken");
    const Yugo a_white = set_up(
        9, "......... ......... XXX...... OO@XX.... O.@OOX... XOO@XX... .X#X..... ......... .........", Colour::white);
    refused<IllegalMove>(
        "neither a pawn (the number of surrounded groups would change) nor a king (no enemy group would be surrounded)",
        [&] { a_white.check("B5"); });
    const Yugo b = after(set_up(5, "..... ..... OX... #OX.. .OX..", Colour::white), "A1");
    expect_board(b, "..... ..... OX... #.X.. @.X..");
    const Yugo c = after(set_up(5, "..... ..... ..... ..... #O...", Colour::white, 0), "A2");
    require(c.score().black.total == 0 && c.score().white.total == 25, "example c");
    const Yugo d = after(set_up(5, "..... ..... O.... .O... .X...", Colour::black, 0), "A2");
    require(d.captured() == std::pair(0, 0), "a king that surrounds nothing takes nothing");
}

void check_handicap_and_agreement() {
    Yugo handicap(9, 0, 2, false);
    refused<IllegalMove>("handicap pawns come first: 2 left", [&] { handicap.play("pass"); });
    refused<IllegalMove>("handicap pawns come first: 2 left", [&] { handicap.check("button"); });
    play_all(handicap, "A1 B1");
    require(handicap.to_play() == Colour::white && handicap.score().black.parts.back().second == -1, "handicap");
    refused<std::invalid_argument>("a position is set up before the first move, without handicap",
                                   [&] { handicap.set_up(std::string(81, '.'), Colour::black); });
    Yugo agree(5, 0, 0, true);
    play_all(agree, "A2 button A1 C3 pass pass");
    require(agree.phase() == Phase::agree, "the sides agree after two passes");
    play_all(agree, "dead:A1,A2 dead:");
    require(agree.phase() == Phase::play, "different lists: play goes on");
    play_all(agree, "pass pass");
    require(agree.phase() == Phase::over, "the second double pass ends the game");
}

void check_refusals() {
    refused<std::invalid_argument>("size must be 2..25", [] { Yugo(26, 0, 0, false); });
    refused<std::invalid_argument>("handicap must be 0 or 2..9", [] { Yugo(9, 0, 10, false); });
    refused<std::invalid_argument>("handicap must be less than the number of points", [] { Yugo(2, 0, 4, false); });
    refused<std::invalid_argument>("komi must be an integer of at most 15 digits",
                                   [] { Yugo(9, 1'000'000'000'000'000, 0, false); });
    Yugo state(5, 0, 0, false);
    refused<std::invalid_argument>("a board has size * size characters", [&] { state.set_up("..", Colour::black); });
    refused<std::invalid_argument>("a board is written with .XO#@",
                                   [&] { state.set_up(std::string(25, 'q'), Colour::black); });
    refused<std::invalid_argument>("A5 is a pawn without a liberty",
                                   [&] { state.set_up(board("XO... O.... ..... ..... ....."), Colour::black); });
    refused<IllegalMove>("the button must be taken before a pass", [&] { state.play("pass"); });
    state.play("button");
    require(state.button() == Colour::black, "Black has the button");
    refused<IllegalMove>("the button is taken", [&] { state.play("BUTTON"); });
    refused<IllegalMove>("komi is settled before the first move", [&] { state.set_komi(3); });
    play_all(state, "pass pass");
    refused<IllegalMove>("the game is over", [&] { state.play("A1"); });
}

}  // namespace

void prove_yugo(const Effort& effort) {
    check_examples();
    check_handicap_and_agreement();
    check_refusals();
    check_fast_path_interrupted(Yugo(3, 0, 0, false), "A1");
    check_fast_path_without_room(Yugo(3, 0, 0, false), "A1");
    walk_all(yugo_subject(), effort);
}

}  // namespace ggp::native
