// Seeded random games of any game under any options, with every position of them proved.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "engines/core/playouts.hpp"
#include "fast_path_proof.hpp"
#include "position.hpp"
#include "search_proof.hpp"

namespace ggp::native {

// A game with options, before ply 0.
template <GameState S>
struct Setting {
    std::string options;
    S start;
    bool may_be_set_up = true;
};

// A game as it is to be walked.
template <GameState S>
struct Subject {
    std::string name;
    std::vector<Setting<S>> settings;
    std::vector<std::string> texts;  // texts for moves, right or wrong
    std::string letters;             // what board() is written with
    bool (*plain)(const S&);         // nothing but board and side matters: set_up leads to the same hash
};

// How much to do; the same seed gives the same walks.
struct Effort {
    std::uint64_t seed = 1;
    int positions = 60;   // proved under each setting; games begun are ended
    int moves = 4;        // looked at in each position, of those that are legal
    int texts = 4;        // and of others
};

inline const std::vector<std::string> strange_texts = {
    "", " ", "pass", "PASS", "resign", "button", "swap-sides", "keep-sides", "bid:", "bid:0", "bid:-1", "bid:007",
    "bid:99999999999999999999", "dead:", "dead:,", "A1", "a1", "i1", "A0", "A01", "A100", "Z25", "Z26", "AA1", "1A", "D4+", "+D4",
    "D4+D5", "D4++D5", "0,0", "0,0/1,0", "0,0/1,0+d:0,0", "1,0/", "/", ",", "+", "-1,0/-2,0", "99999999999,0/0,1",
    "\xc3\xa9", "D\xff", std::string(1, '\0'), "d4\n"};

template <GameState S>
class Walk {
  public:
    Walk(const Subject<S>& subject, const Setting<S>& setting, const Effort& effort, std::uint64_t seed)
        : subject_(subject), setting_(setting), effort_(effort), rng_(seed) {}

    // Returns how many positions were proved. Throws Failure with the plies that led to it.
    int run() {
        try {
            return walk(setting_.start);
        } catch (const std::exception& error) {
            throw Failure(subject_.name + " " + setting_.options + ": " + error.what() + "\n  after: " + joined(plies_));
        }
    }

  private:
    static constexpr int positions_of_a_game = 40;  // about; a large board has as many as a small one

    int walk(S state) {
        const S start = state;
        const std::string began = look(start);
        S kept = state;
        std::string looked = look(kept);
        const int cap = playout_plies_per_cell * state.cells();
        const std::uint32_t way = rng_.below(4);
        int proved = 1;
        while (state.phase() != Phase::over) {
            require(state.ply() < cap, "the game does not end");
            if (some(static_cast<std::size_t>(state.cells()), positions_of_a_game)) {
                prove(state), ++proved;
                require(look(kept) == looked, "a copy changed when the game went on");
                if (rng_.below(4) == 0) kept = state, looked = look(kept);
            }
            step(state, way);
        }
        prove(state);
        require(look(start) == began, "the start changed");
        return proved;
    }

    void prove(const S& state) {
        const auto moves = state.legal_moves();
        const auto legal = legal_texts(state);
        const std::string before = look(state);
        check_status(state, legal);
        audit(state);
        for (std::size_t i = 0; i < moves.size(); ++i)
            if (some(moves.size(), effort_.moves)) check_move(state, legal, moves[i]);
        for (int i = 0; i < effort_.texts; ++i) check_text(state, legal, any_text(legal));
        if (!moves.empty()) {
            check_random(state, legal, rng_, Policy::uniform);
            check_random(state, legal, rng_, Policy::rollout);
            remember(legal);
            if (rng_.below(16) == 0) check_fast_path(state, legal[rng_.below(static_cast<std::uint32_t>(legal.size()))]);
        }
        if (rng_.below(8) == 0) check_set_up(state);
        require(look(state) == before && legal_texts(state) == legal, "looking changed the position");
    }

    // Uniform draws, rollouts, or texts in one game in four each; both in the fourth.
    void step(S& state, std::uint32_t way) {
        if (state.phase() == Phase::agree && answer(state)) return;
        if (way == 3 || (way == 2 && rng_.below(2) == 0)) {
            const auto legal = legal_texts(state);
            plies_.push_back(state.play(legal[rng_.below(static_cast<std::uint32_t>(legal.size()))]));
        } else {
            const S before = state;
            const auto move = state.play_random(rng_, way == 1 ? Policy::rollout : Policy::uniform);
            plies_.emplace_back(before.text(move));
        }
    }

    // A dead list that names something; true if one was found and played. The empty one is among the legal moves.
    bool answer(S& state) {
        if (seen_.empty()) return false;
        const std::string list = "dead:" + seen_[rng_.below(static_cast<std::uint32_t>(seen_.size()))];
        try {
            plies_.push_back(state.play(list));
        } catch (const IllegalMove&) {
            return false;
        }
        return true;
    }

    // The board that board() writes is one that set_up reads; so are random ones, or they are refused.
    void check_set_up(const S& state) {
        const Colour side = state.to_play() == Colour::none ? Colour::black : state.to_play();
        S other = setting_.start;
        const std::string before = look(other);
        try {
            other.set_up(state.board(), side);
            require(other.board() == state.board() && other.to_play() == side && other.ply() == 0, "set_up and board");
            if (plain(state)) require(other.hash() == state.hash(), "set_up leads to another hash");
            audit(other);
            check_status(other, legal_texts(other));
        } catch (const std::invalid_argument&) {
            require(look(other) == before, "a refused set_up changed something");
            require(!plain(state), "set_up refuses a position that was reached in play");
        }
        std::string board = other.board();
        if (subject_.letters.empty() || board.empty()) return;
        const auto letters = static_cast<std::uint32_t>(subject_.letters.size());
        for (int changes = 1 + static_cast<int>(rng_.below(6)); changes > 0; --changes)
            board[rng_.below(static_cast<std::uint32_t>(board.size()))] = subject_.letters[rng_.below(letters)];
        S random = setting_.start;
        try {
            random.set_up(board, rng_.below(2) == 0 ? Colour::black : Colour::white);
        } catch (const std::invalid_argument&) {
            return require(look(random) == before, "a refused set_up changed something");
        }
        audit(random);
        const auto legal = legal_texts(random);
        check_status(random, legal);
        if (!legal.empty()) check_random(random, legal, rng_, Policy::uniform);
    }

    bool plain(const S& state) const { return setting_.may_be_set_up && subject_.plain(state); }

    bool some(std::size_t of, int wanted) {
        return static_cast<int>(rng_.below(static_cast<std::uint32_t>(of))) < wanted;
    }

    // A text that is strange, or was legal somewhere before, or is legal but for a character.
    std::string any_text(const std::vector<std::string>& legal) {
        const auto one_of = [this](const std::vector<std::string>& all) {
            return all.empty() ? std::string() : all[rng_.below(static_cast<std::uint32_t>(all.size()))];
        };
        switch (rng_.below(4)) {
            case 0: return one_of(strange_texts);
            case 1: return one_of(subject_.texts);
            case 2: return one_of(seen_);
            default: break;
        }
        std::string text = one_of(legal.empty() ? seen_ : legal);
        const std::string others = "ABCDEz0123456789+-,:/dl ";
        if (text.empty()) return text;
        const std::size_t at = rng_.below(static_cast<std::uint32_t>(text.size()));
        switch (rng_.below(3)) {
            case 0: text[at] = others[rng_.below(static_cast<std::uint32_t>(others.size()))]; break;
            case 1: text.erase(at, 1); break;
            default: text.insert(at, 1, others[rng_.below(static_cast<std::uint32_t>(others.size()))]);
        }
        return text;
    }

    void remember(const std::vector<std::string>& legal) {
        for (int i = 0; i < 4; ++i) {
            const std::string& text = legal[rng_.below(static_cast<std::uint32_t>(legal.size()))];
            if (seen_.size() < 500) seen_.push_back(text);
            else seen_[rng_.below(500)] = text;
        }
    }

    const Subject<S>& subject_;
    const Setting<S>& setting_;
    Effort effort_;
    Rng rng_;
    std::vector<std::string> plies_, seen_;
};

// Perft counted by texts; playouts that are whole games, the same for the same seed.
template <GameState S>
void check_walks_of_the_tree(const Setting<S>& setting) {
    int polls = 0;
    const auto poll = [&polls] { ++polls; };
    std::uint64_t by_text = 0;
    const auto legal = legal_texts(setting.start);
    for (const std::string& text : legal) {
        S next = setting.start;
        next.play(text);
        by_text += legal_texts(next).size();
    }
    require(perft(setting.start, 0, poll) == 1 && perft(setting.start, 1, poll) == legal.size(), "perft 0 and 1");
    require(perft(setting.start, 2, poll) == by_text && polls > 0, "perft 2");
    for (const Policy policy : {Policy::uniform, Policy::rollout}) {
        Tally first, second;
        Rng one(7), other(7);
        playouts(setting.start, 3, one, policy, first);
        playouts(setting.start, 3, other, policy, second);
        require(first.black + first.white + first.draws == 3, "playouts are whole games");
        require(first.plies == second.plies && first.black == second.black, "playouts are seeded");
    }
}

// All settings of a game; says what was walked.
template <GameState S>
void walk_all(const Subject<S>& subject, const Effort& effort) {
    std::uint64_t seed = effort.seed * 1'000'003;
    int games = 0, positions = 0;
    check_search(subject.settings.front().start);
    check_search(subject.settings.back().start);
    require(std::any_of(subject.settings.begin(), subject.settings.end(),
                        [](const auto& setting) { return check_slow_start(setting.start); }),
            "a move is far ahead in one of the settings");
    for (const Setting<S>& setting : subject.settings) {
        check_walks_of_the_tree(setting);
        for (int proved = 0; proved < effort.positions; ++games) {
            const int more = Walk<S>(subject, setting, effort, ++seed).run();
            proved += more, positions += more;
        }
    }
    std::cout << subject.name << ": " << subject.settings.size() << " settings, " << games << " games, "
              << positions << " positions\n";
}

}  // namespace ggp::native
