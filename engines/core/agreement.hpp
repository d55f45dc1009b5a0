// The end of a game by passing: two consecutive passes, and the agreement phase that an option puts behind them.
// Shared by yugo and go, which remove the agreed groups and count; this knows no scoring.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chains.hpp"
#include "square.hpp"
#include "zobrist.hpp"

namespace ggp {

// All points of the groups that both sides call dead, by column, then row.
using DeadList = std::vector<Point>;

// The longest move text that is looked at: a list of all 625 points of the largest board takes 2,496 characters.
inline constexpr std::size_t max_move_text = 4096;

// Reads "dead:D4,E5": a stone names its whole group. "dead:" alone is the empty list. Throws IllegalMove.
inline DeadList parse_dead(std::string_view text, const Square& square, const Chains& chains) {
    DeadList points, named;
    if (text.size() > max_move_text) throw IllegalMove("the list of dead groups is too long");
    text.remove_prefix(std::string_view("dead:").size());
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const Point p = square.parse(text.substr(0, comma));
        const std::string name = square.name(p);
        if (chains.at(p) == no_stone) throw IllegalMove(name + " is empty: name a stone of a dead group");
        if (std::find(named.begin(), named.end(), p) != named.end()) throw IllegalMove(name + " is named twice");
        named.push_back(p);
        if (std::find(points.begin(), points.end(), p) == points.end())
            chains.each_stone(p, [&](Point s) { points.push_back(s); });
        if (comma + 1 == text.size()) throw IllegalMove("a point is missing after the last comma");
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    std::sort(points.begin(), points.end(), [&](Point a, Point b) {
        return std::pair(square.column(a), square.row(a)) < std::pair(square.column(b), square.row(b));
    });
    return points;
}

inline std::string dead_text(const DeadList& points, const Square& square) {
    std::string text = "dead:";
    for (const Point p : points) {
        if (text.back() != ':') text += ',';
        text += square.name(p);
    }
    return text;
}

// Whose turn it is and how the game comes to its end.
class Turns {
  public:
    Turns(Colour first, bool agreement) : side_(first), agreement_(agreement) {}

    Phase phase() const { return phase_; }
    Colour to_play() const { return phase_ == Phase::over ? Colour::none : side_; }
    void set_to_play(Colour side) { side_ = side; }
    bool agreement() const { return agreement_; }

    // Whether a pass would end the game at once.
    bool ends_by_pass() const { return phase_ == Phase::play && passes_ == 1 && (!agreement_ || resumed_); }

    // A move that is not a pass, after which `next` acts.
    void moved(Colour next) { passes_ = 0, side_ = next; }

    void passed() {
        if (++passes_ == 1) first_passer_ = side_;
        const Colour next = other(side_);
        if (passes_ == 2 && agreement_ && !resumed_) phase_ = Phase::agree, side_ = first_passer_, resumes_ = next;
        else if (passes_ == 2) phase_ = Phase::over;
        else side_ = next;
    }

    // The acting side's dead list. True when both lists are the same: the game is over, the groups are to be removed.
    // Different lists: play goes on with the opponent of the last passer, and the next double pass ends the game.
    bool answered(DeadList list) {
        if (!one_answered_) {
            one_answered_ = true, first_list_ = std::move(list), side_ = other(side_);
            return false;
        }
        const bool agreed = list == first_list_;
        if (agreed) phase_ = Phase::over;
        else phase_ = Phase::play, side_ = resumes_, passes_ = 0, resumed_ = true;
        one_answered_ = false, first_list_.clear();
        return agreed;
    }

    void end() { phase_ = Phase::over; }

    void digest(Digest& digest) const {
        digest.add(static_cast<std::uint64_t>(phase_) | static_cast<std::uint64_t>(to_play()) << 8 |
                   static_cast<std::uint64_t>(passes_) << 16 | std::uint64_t{agreement_} << 24 |
                   std::uint64_t{resumed_} << 25 | std::uint64_t{one_answered_} << 26 |
                   (phase_ == Phase::agree ? static_cast<std::uint64_t>(resumes_) << 32 : 0));
        for (const Point p : first_list_) digest.add(p);
    }

    // Throws IllegalMove unless `text` is of the kind that this phase asks for. Returns whether it is a dead list.
    bool is_dead_list(std::string_view text) const {
        if (phase_ == Phase::over) throw IllegalMove("the game is over");
        const bool list = is_word(text.substr(0, 5), "dead:");
        if (phase_ == Phase::agree && !list)
            throw IllegalMove(
                "both sides have passed: answer dead: with the points of dead groups, or dead: alone for none");
        if (phase_ != Phase::agree && list)
            throw IllegalMove("dead: lists belong to the agreement phase, after two passes");
        return list;
    }

  private:
    Phase phase_ = Phase::play;
    Colour side_;
    bool agreement_, resumed_ = false, one_answered_ = false;
    std::uint8_t passes_ = 0;
    Colour first_passer_ = Colour::none, resumes_ = Colour::none;
    DeadList first_list_;
};

}  // namespace ggp
