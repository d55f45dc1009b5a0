// How a game of the core becomes a Python class: every game is bound the same way. This folder alone knows Python.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "../game_state.hpp"
#include "../fast_path.hpp"
#include "../playouts.hpp"

namespace ggp::python {

namespace nb = nanobind;
using namespace nb::literals;

// One for each game, in the file of its name.
void bind_go(nb::module_& module);
void bind_laido(nb::module_& module);
void bind_stigmergy(nb::module_& module);
void bind_taigo(nb::module_& module);
void bind_taugo(nb::module_& module);
void bind_yugo(nb::module_& module);

template <class Enum>
Enum one_of(std::string_view text, std::initializer_list<std::pair<std::string_view, Enum>> choices, const char* what) {
    std::string names;
    for (const auto& [name, value] : choices) {
        if (name == text) return value;
        names += (names.empty() ? "" : ", ") + std::string(name);
    }
    throw std::invalid_argument(std::string(what) + " must be one of: " + names);
}

inline Colour side_named(std::string_view text) {
    return one_of<Colour>(text, {{"black", Colour::black}, {"white", Colour::white}}, "the side");
}

inline Policy policy_named(std::string_view text) {
    return one_of<Policy>(text, {{"uniform", Policy::uniform}, {"rollout", Policy::rollout}}, "policy");
}

// An int of any length, as the nearest one that C++ has: the core refuses it with its own words.
inline std::int64_t nearest(const nb::int_& value) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    return overflow > 0 ? most : overflow < 0 ? -most : number;
}

// Whole numbers as int, so that JSON says 10 and not 10.0.
inline nb::object number(double value) {
    if (value == std::floor(value) && std::abs(value) < 9e15) return nb::int_(static_cast<std::int64_t>(value));
    return nb::float_(value);
}

inline nb::dict parts(const ScoreParts& score) {
    nb::dict dict;
    dict["total"] = score.total ? number(*score.total) : nb::none();
    for (const auto& [what, points] : score.parts) dict[what] = number(points);
    for (const auto& [what, values] : score.lists) {
        nb::list list;
        for (const int value : values) list.append(value);
        dict[what] = list;
    }
    return dict;
}

// ASCII text as str: a list of all legal moves is asked for in every turn of a match. The limited API, with which a wheel
// is built for all later versions of Python, has the slower way alone.
inline nb::object ascii(std::string_view text) {
    const auto size = static_cast<Py_ssize_t>(text.size());
#ifdef Py_LIMITED_API
    PyObject* const object = PyUnicode_FromStringAndSize(text.data(), size);
    if (object == nullptr) throw nb::python_error();
#else
    PyObject* const object = PyUnicode_New(size, 127);
    if (object == nullptr) throw nb::python_error();
    std::copy(text.begin(), text.end(), static_cast<char*>(PyUnicode_DATA(object)));
#endif
    return nb::steal(object);
}

// Of a new list: takes the reference over.
inline void set_item(PyObject* list, Py_ssize_t index, nb::object item) {
#ifdef Py_LIMITED_API
    if (PyList_SetItem(list, index, item.release().ptr()) != 0) throw nb::python_error();
#else
    PyList_SET_ITEM(list, index, item.release().ptr());
#endif
}

template <GameState S>
nb::object legal_moves(const S& state) {
    const auto moves = state.legal_moves();
    nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(moves.size())));
    if (!list.is_valid()) throw nb::python_error();
    Py_ssize_t index = 0;
    for (const auto move : moves) set_item(list.ptr(), index++, ascii(state.text(move)));
    return list;
}

// Of work that goes on without the GIL: it polls for signals, such as Ctrl-C, and stops at one.
class SignalPoll {
  public:
    using Clock = std::chrono::steady_clock;

    // now: the time, if the caller knows it.
    void poll(Clock::time_point now = Clock::now()) {
        if (now - heard_ <= std::chrono::milliseconds(50)) return;
        heard_ = now;
        const nb::gil_scoped_acquire acquired;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }

  private:
    Clock::time_point heard_ = Clock::now();
};

template <GameState S>
std::uint64_t perft(const S& state, int depth) {
    if (depth < 0) throw std::invalid_argument("depth must not be negative");
    const S copy = state;  // other threads cannot change it while the GIL is released
    SignalPoll signals;
    const auto poll = [&signals] { signals.poll(); };
    const nb::gil_scoped_release released;
    return ggp::perft(copy, depth, poll);
}

template <GameState S>
std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t> playouts(
    const S& state, std::int64_t n, std::uint64_t seed, std::string_view policy) {
    constexpr std::int64_t between_signals = 1000;  // games
    if (n < 0) throw std::invalid_argument("n must not be negative");
    const Policy how = policy_named(policy);
    const S copy = state;
    Rng rng(seed);
    Tally tally;
    for (std::int64_t done = 0; done < n; done += between_signals) {
        {
            const nb::gil_scoped_release released;
            ggp::playouts(copy, static_cast<std::uint64_t>(std::min(n - done, between_signals)), rng, how, tally);
        }
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    return {tally.plies, tally.black, tally.white, tally.draws};
}

template <GameState S>
nb::object random_move(const S& state, std::uint64_t seed, std::string_view policy) {
    if (state.phase() == Phase::over) throw IllegalMove("the game is over");
    Rng rng(seed);
    S copy = state;
    return ascii(state.text(copy.play_random(rng, policy_named(policy))));
}

// Changes the position.
template <GameState S>
void play_out(S& state, std::uint64_t seed, std::string_view policy) {
    Rng rng(seed);
    ggp::play_out(state, rng, policy_named(policy));
}

// (the input that ended it, b"" for its end, None: there is no more now, or `commands` were answered; the plies played:
// seat, colour, move; the part of an answer that was not sent). A signal ends it.
template <GameState S>
nb::tuple answer_plays(S& state, int in, int out, std::size_t plies, std::size_t commands) {
    const auto fast_path = std::make_unique<FastPath<S>>(state, in, out, plies);
    FastPathEnd end;
    do {
        const nb::gil_scoped_release released;
        end = fast_path->run(commands);
    } while (end == FastPathEnd::interrupted && PyErr_CheckSignals() == 0);
    if (end == FastPathEnd::interrupted) throw nb::python_error();
    nb::list played;
    for (const auto& [seat, colour, move] : fast_path->played)
        played.append(nb::make_tuple(seat, ggp::name(colour), ascii(move)));
    const auto bytes = [](std::string_view text) { return nb::bytes(text.data(), text.size()); };
    const nb::object input = end == FastPathEnd::nothing_now ? nb::none()
                             : nb::object(bytes(end == FastPathEnd::end_of_input ? "" : fast_path->input));
    return nb::make_tuple(input, played, bytes(fast_path->unsent));
}

// What every game has. The games add their constructors and what is theirs alone.
template <GameState S>
nb::class_<S> bind_game(nb::module_& module, const char* title) {
    nb::class_<S> game(module, title);
    game.def_prop_ro("phase", [](const S& s) { return ggp::name(s.phase()); })
        .def_prop_ro("to_play", [](const S& s) { return ggp::name(s.to_play()); })
        .def_prop_ro("seat", &S::seat)
        .def_prop_ro("ply", &S::ply)
        .def_prop_ro("result", &S::result)
        .def_prop_ro("winner", &S::winner)
        .def_prop_ro("size", &S::size)
        .def("play", [](S& s, std::string_view move) { return s.play(move); }, "move"_a)
        .def("why_illegal",
             [](const S& s, std::string_view move) -> std::string {
                 try {
                     s.check(move);
                 } catch (const IllegalMove& error) {
                     return error.what();
                 }
                 return "";
             },
             "move"_a)
        .def("answer_plays", &answer_plays<S>, "source"_a, "sink"_a, "plies"_a, "commands"_a,
             nb::sig("def answer_plays(self, source: int, sink: int, plies: int, commands: int) -> "
                     "tuple[bytes | None, list[tuple[int, str, str]], bytes]"))
        .def("legal_moves", &legal_moves<S>, nb::sig("def legal_moves(self) -> list[str]"))
        .def("hash", &S::hash)
        .def("copy", [](const S& s) { return S(s); })
        .def("__copy__", [](const S& s) { return S(s); })
        .def("__deepcopy__", [](const S& s, const nb::object&) { return S(s); }, "memo"_a)
        .def("perft", &perft<S>, "depth"_a)
        .def("playouts", &playouts<S>, "n"_a, "seed"_a = 0, "policy"_a = "uniform")
        .def("play_out", &play_out<S>, "seed"_a, "policy"_a = "uniform")
        .def("random_move", &random_move<S>, "seed"_a, "policy"_a = "uniform",
             nb::sig("def random_move(self, seed: int, policy: str = 'uniform') -> str"))
        .def("board", &S::board)
        .def("last_move", &S::last_move)
        .def("captured", &S::captured)
        .def("set_up", [](S& s, std::string_view board, std::string_view side) { s.set_up(board, side_named(side)); },
             "board"_a, "side"_a = "black")
        .def("score_parts", [](const S& s) {
            const Score score = s.score();
            nb::dict dict;
            dict["black"] = parts(score.black);
            dict["white"] = parts(score.white);
            return dict;
        });
    return game;
}

}  // namespace ggp::python
