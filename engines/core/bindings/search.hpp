// How the search of a game becomes a Python class: every game's is bound the same way.
#pragma once
#include <nanobind/stl/unique_ptr.h>

#include <chrono>
#include <tuple>

#include "../search.hpp"
#include "bind.hpp"

namespace ggp::python {

// A search that runs without the GIL must not be asked from another thread meanwhile: it refuses.
template <GameState S>
class PythonSearch {
  public:
    PythonSearch(const S& root, std::uint64_t seed, int threads, std::size_t megabytes)
        : search_(checked(root, threads, megabytes), seed, threads,
                  (megabytes << 20) / sizeof(Node<typename S::Move>)) {}

    Search<S>& idle() {
        if (busy_) throw std::runtime_error("the search is running in another thread");
        return search_;
    }

    void run(std::int64_t playouts, double seconds) {
        if (playouts < 0 || !(seconds >= 0) || (playouts == 0 && seconds == 0))
            throw std::invalid_argument("a search needs a number of playouts, or of seconds, or both");
        if (idle().state().phase() == Phase::over) throw IllegalMove("the game is over");
        const auto start = std::chrono::steady_clock::now();
        SignalPoll signals;
        const auto elapsed = [&] {
            const auto now = std::chrono::steady_clock::now();
            signals.poll(now);
            return std::chrono::duration<double>(now - start).count();
        };
        const Busy busy(busy_);
        const nb::gil_scoped_release released;
        search_.run({static_cast<std::uint64_t>(playouts), seconds}, elapsed);
    }

  private:
    struct Busy {
        explicit Busy(bool& flag) : flag(flag) { flag = true; }
        ~Busy() { flag = false; }
        bool& flag;
    };

    static const S& checked(const S& root, int threads, std::size_t megabytes) {
        if (threads < 1 || threads > 64) throw std::invalid_argument("threads must be 1..64");
        if (megabytes < 1 || megabytes > 65536) throw std::invalid_argument("megabytes must be 1..65536");
        if (root.phase() == Phase::over) throw IllegalMove("the game is over");
        return root;
    }

    Search<S> search_;
    bool busy_ = false;
};

// (move, visits, share of them won by the side to play, "win", "loss", "draw" or "" for what is not proven)
template <GameState S>
nb::list votes(const Search<S>& search) {
    nb::list list;
    const Colour mover = search.state().to_play();
    for (const auto& vote : search.votes()) {
        const double won = vote.visits == 0 ? 0.5
            : static_cast<double>(vote.points_for(mover)) / static_cast<double>(2 * vote.visits);
        const char* const proof = vote.proof == Proof::open ? "" : vote.proof == Proof::draw ? "draw"
                                  : vote.proof == won_by(mover) ? "win" : "loss";
        list.append(nb::make_tuple(ascii(search.state().text(vote.move)), vote.visits, won, proof));
    }
    return list;
}

// S::search, and the class of what it answers.
template <GameState S>
void bind_search(nb::module_& module, nb::class_<S>& game, const char* title) {
    using Bound = PythonSearch<S>;
    nb::class_<Bound>(module, title)
        .def("run", &Bound::run, "playouts"_a = 0, "seconds"_a = 0.0)
        .def("play", [](Bound& s, std::string_view move) { s.idle().play(move); }, "move"_a)
        .def("votes", [](Bound& s) { return votes(s.idle()); },
             nb::sig("def votes(self) -> list[tuple[str, int, float, str]]"))
        .def("line", [](Bound& s) {
            const Search<S>& search = s.idle();
            S state = search.state();
            nb::list list;
            for (const auto& move : search.line()) {
                list.append(ascii(state.text(move)));
                state.apply(move);
            }
            return list;
        }, nb::sig("def line(self) -> list[str]"))
        .def("hash", [](Bound& s) { return s.idle().state().hash(); })
        .def_prop_ro("swap_follows", [](Bound& s) { return s.idle().swap_follows(); })
        .def_prop_ro("nodes", [](Bound& s) { return s.idle().nodes(); })
        .def_prop_ro_static("node_bytes", [](const nb::object&) { return sizeof(Node<typename S::Move>); });
    game.def("search", [](const S& root, std::uint64_t seed, int threads, std::size_t megabytes) {
        return std::make_unique<Bound>(root, seed, threads, megabytes);
    }, "seed"_a = 0, "threads"_a = 1, "megabytes"_a = 64);
}

}  // namespace ggp::python
