// Laido without Python: random games under all options, and what a search uses; its rule cases are in Python.
#include <cstdint>
#include <string>
#include <unordered_map>

#include "engines/core/laido.hpp"
#include "proofs.hpp"
#include "rule_cases.hpp"
#include "subjects/laido.hpp"

namespace ggp::native {

namespace {

// Who wins with best play, by all moves and nothing but the rules; on the way it tries what each position says of itself.
class Exact {
  public:
    Colour winner(const Laido& state) {
        if (state.phase() == Phase::over) return state.leader();
        const auto [known, fresh] = known_.try_emplace(state.hash(), Colour::none);
        if (!fresh) return known->second;
        Laido view = state;
        const Colour mover = state.to_play(), certain = view.certain_winner();
        bool wins = false, wins_without = false;
        for (const Laido::Move move : state.legal_moves()) {
            const bool dominated = view.dominated(move);
            left_out_ += dominated;
            if (wins && (dominated || wins_without)) continue;  // it can teach nothing
            Laido next = state;
            next.apply(move);
            const bool won = winner(next) == mover;
            wins |= won;
            wins_without |= won && !dominated;
        }
        const Colour exact = wins ? mover : other(mover);
        require(wins == wins_without, "a dominated stone is not the only one that wins: " + state.board());
        require(certain == Colour::none || certain == exact, "who wins for certain wins: " + state.board());
        certain_ += certain != Colour::none;
        return known_[state.hash()] = exact;
    }

    long certain() const { return certain_; }
    long left_out() const { return left_out_; }
    std::size_t positions() const { return known_.size(); }

  private:
    std::unordered_map<std::uint64_t, Colour> known_;
    long certain_ = 0, left_out_ = 0;
};

// What a position knows that was looked at on its way is what one knows that begins there.
void check_potential(Laido state, Rng& rng) {
    const int size = state.size();
    for (; state.phase() != Phase::over; state.play_random(rng, rng.below(4) == 0 ? Policy::uniform : Policy::rollout)) {
        if (state.seat() != static_cast<int>(state.to_play())) return;  // sides were swapped: set_up knows no such thing
        if (rng.below(2) == 0) continue;
        Laido fresh(size, false, HalfPoint::final);
        fresh.set_up(state.board(), state.to_play());
        const bool opening = state.ply() < 2;
        for (const Laido::Move move : fresh.legal_moves()) {
            require(state.unlikely(move) == fresh.unlikely(move), "as unlikely as at first sight: " + state.board());
            require(opening || state.dominated(move) == fresh.dominated(move), "as dominated: " + state.board());
        }
    }
}

// Where what one side can hope for is just what the other one has, and it may have passed first.
void check_equal_hopes() {
    const Hexagon hexagon(3);
    for (const std::string cells : {"XOOOXO.OOXOXXXX.OOX", "OXXOXO.X.XOXXOO.O.O", "OXOOXOXO.XOXOXOXX.X"})
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (cells[i] == '.') continue;
            std::string before = cells;
            before[i] = '.';
            Laido state(3, false, HalfPoint::first);
            state.set_up(before, cells[i] == 'X' ? Colour::white : Colour::black);
            play_all(state, "pass " + hexagon.name(hexagon.by_row()[i]));
            Exact().winner(state);
        }
}

void check_views(const Subject<Laido>& subject, const Effort& effort) {
    constexpr int most_empties = 8;
    Rng rng(effort.seed);
    for (const Setting<Laido>& setting : subject.settings) {
        if (setting.start.size() > 5) continue;
        long certain = 0, left_out = 0, open = 0;
        for (int game = 0; game < 1 + effort.positions / 10; ++game) {
            Laido state = setting.start;
            const auto empties = [&] { const std::string b = state.board(); return std::count(b.begin(), b.end(), '.'); };
            // Fewer passes than rollouts make, so that somewhere there is still something to play for.
            while (state.phase() != Phase::over && (empties() > most_empties || state.ply() < 2))
                state.play_random(rng, rng.below(2) == 0 ? Policy::uniform : Policy::rollout);
            check_potential(setting.start, rng);
            Exact exact;
            exact.winner(state);
            certain += exact.certain(), left_out += exact.left_out();
            open += static_cast<long>(exact.positions()) - exact.certain();
        }
        require(certain > 0 && left_out > 0 && open > 0, "all of it occurs: " + setting.options);
    }
}

}  // namespace

void prove_laido(const Effort& effort) {
    const Subject<Laido> subject = laido_subject();
    walk_all(subject, effort);
    check_views(subject, effort);
    check_equal_hopes();
}

}  // namespace ggp::native
