// What must hold of one position of any game: its legal moves, its texts, its copies, its end.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/core/game_state.hpp"
#include "proof.hpp"

namespace ggp::native {

inline constexpr std::size_t longest_reason = 200;

template <GameState S>
std::vector<std::string> legal_texts(const S& state) {
    std::vector<std::string> texts;
    for (const auto move : state.legal_moves()) texts.emplace_back(state.text(move));
    return texts;
}

inline bool contains(const std::vector<std::string>& sorted, const std::string& text) {
    return std::binary_search(sorted.begin(), sorted.end(), text);
}

inline std::string joined(const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
    return all;
}

inline std::string text(const ScoreParts& score) {
    std::string all = score.total ? std::to_string(*score.total) : "none";
    for (const auto& [what, points] : score.parts) all += std::string(" ") + what + "=" + std::to_string(points);
    for (const auto& [what, values] : score.lists) {
        all += std::string(" ") + what;
        for (const int value : values) all += "," + std::to_string(value);
    }
    return all;
}

// All that can be seen of a position, but for its legal moves.
template <GameState S>
std::string look(const S& state) {
    const auto [black, white] = state.captured();
    const Score score = state.score();
    return std::string(name(state.phase())) + " " + name(state.to_play()) + " seat " + std::to_string(state.seat()) +
           " leader " + name(state.leader()) + " winner " + std::to_string(state.winner()) + " result " +
           state.result() + " ply " + std::to_string(state.ply()) + " hash " + std::to_string(state.hash()) +
           " captured " + std::to_string(black) + "," + std::to_string(white) + " last " + joined(state.last_move()) +
           " black " + text(score.black) + " white " + text(score.white) + " " + state.board();
}

// The incremental data of a game that offers to count it again: audit() throws what is wrong.
template <GameState S>
void audit(const S& state) {
    if constexpr (requires { state.audit(); }) state.audit();
}

// Phase, side, seat, result, winner and leader agree with each other.
template <GameState S>
void check_status(const S& state, const std::vector<std::string>& legal) {
    const bool over = state.phase() == Phase::over;
    require(over == legal.empty(), "there are legal moves if and only if the game is not over");
    require(over == (state.to_play() == Colour::none), "a side is to play if and only if the game is not over");
    require(over ? state.seat() == 0 : state.seat() == 1 || state.seat() == 2, "the seat");
    require(over != state.result().empty(), "there is a result if and only if the game is over");
    require(std::adjacent_find(legal.begin(), legal.end(), [](const auto& a, const auto& b) { return a >= b; }) ==
                legal.end(),
            "the legal moves are sorted and unique");
    if (!over) return require(state.winner() == 0, "no winner before the end");
    const char first = state.result()[0];
    const Colour leader = state.leader();
    require(first == (leader == Colour::black ? 'B' : leader == Colour::white ? 'W' : '0'), "result and leader");
    require((leader == Colour::none) == (state.winner() == 0), "winner and leader");
}

// `text` is refused with a reason, by check and by play, and nothing has changed; or both accept it, and its canonical
// form is legal and leads to the same. Returns whether it was accepted.
template <GameState S>
bool check_text(const S& state, const std::vector<std::string>& legal, std::string_view text) {
    const std::string quoted = "`" + std::string(text.substr(0, 60)) + "`";
    S played = state;
    std::string reason, canonical;
    try {
        state.check(text);
    } catch (const IllegalMove& error) {
        reason = error.what();
        require(!reason.empty() && reason.size() < longest_reason, quoted + " is refused for `" + reason + "`");
    }
    try {
        canonical = played.play(text);
        require(reason.empty(), quoted + " is refused by check only: " + reason);
    } catch (const IllegalMove& error) {
        require(reason == error.what(), quoted + ": check and play give different reasons");
        require(look(played) == look(state), quoted + " was refused and changed something");
        audit(played);
        return false;
    }
    require(contains(legal, canonical) || canonical.starts_with("dead:"), quoted + " is not among the legal moves");
    S again = state;
    require(again.play(canonical) == canonical, quoted + ": its canonical form " + canonical + " is not canonical");
    require(look(again) == look(played), quoted + ": the canonical form leads to another position");
    return true;
}

// A legal move: as text and as move it leads to the same, in any letter case, and its position is sound.
template <GameState S>
void check_move(const S& state, const std::vector<std::string>& legal, typename S::Move move) {
    const std::string canonical(state.text(move));
    std::string upper_case = canonical, lower_case = canonical;
    for (char& c : upper_case) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    for (char& c : lower_case) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    const std::string before = look(state);
    require(contains(legal, canonical), canonical + " is legal");
    state.check(canonical);
    S applied = state, played = state, shouted = state, whispered = state;
    applied.apply(move);
    require(played.play(canonical) == canonical, canonical + " is not answered as it is listed");
    require(shouted.play(upper_case) == canonical && whispered.play(lower_case) == canonical,
            canonical + ": letter case counts");
    require(look(applied) == look(played), canonical + ": apply and play lead to different positions");
    require(look(shouted) == look(played) && look(whispered) == look(played), canonical + ": letter case changes it");
    require(applied.ply() == state.ply() + 1, canonical + " is one ply");
    require(look(state) == before, canonical + ": playing on a copy changed the original");
    audit(applied);
    check_status(applied, legal_texts(applied));
}

// A random ply on a copy is legal and leads where the same move leads.
template <GameState S>
void check_random(const S& state, const std::vector<std::string>& legal, Rng& rng, Policy policy) {
    S drawn = state, applied = state;
    const auto move = drawn.play_random(rng, policy);
    const std::string chosen(state.text(move));
    require(contains(legal, chosen), "play_random chose " + chosen);
    applied.apply(move);
    require(look(applied) == look(drawn), "play_random " + chosen + " and apply lead to different positions");
    require(legal_texts(applied) == legal_texts(drawn), "after play_random " + chosen + " other moves are legal");
    audit(drawn);
}

}  // namespace ggp::native
