// Why a move of taugo is illegal, in words that name the rule and the points. It is asked only about illegal moves.
#pragma once
#include <string>
#include <vector>

#include "square.hpp"
#include "taugo_board.hpp"

namespace ggp::taugo {

// `knot at C3 D3 C4 D4`, for the knot with that lower left corner.
inline std::string knot_at(const Square& square, int column, int row) {
    const auto at = [&](int c, int r) { return square.name(square.at(c, r)); };
    return "knot at " + at(column, row) + " " + at(column + 1, row) + " " + at(column, row + 1) + " " +
           at(column + 1, row + 1);
}

// One illegal run of `colour`, checked point by point in the words of the rules. (Line looks at whole lines; a run is legal
// by Line iff nothing is wrong with it here, but for knots, which come last because they are looked for afterwards.)
class MoveErrors {
  public:
    MoveErrors(const Square& square, const Board& board, Colour colour, bool any, Run run)
        : square_(square), board_(board), colour_(colour), any_(any), run_(run) {}

    std::string why_not() const {
        std::string reason = run_.length == 1 ? single() : start();
        if (reason.empty() && run_.length > 1) reason = points();
        return reason.empty() ? knot() : reason;
    }

  private:
    std::string point(int index) const { return named(run_.point(index)); }
    std::string named(std::pair<int, int> at) const { return square_.name(square_.at(at.first, at.second)); }
    Colour at(int index) const { return at(run_.point(index)); }
    Colour at(std::pair<int, int> point) const { return board_.at(point.first, point.second); }
    bool inner(int index) const { return inner(run_.point(index)); }
    bool inner(std::pair<int, int> point) const { return board_.is_inner(point.first, point.second); }
    int degree(int index, Colour colour) const {
        const auto [column, row] = run_.point(index);
        return board_.friends(colour, column, row);
    }
    std::string edge_point(int index) const {
        return point(index) + " is an edge point: it can only be filled as a cut point";
    }

    std::string single() const {
        const Colour there = at(0);
        if (there == Colour::none) return inner(0) ? "" : edge_point(0);
        if (there == colour_) return point(0) + " is occupied";
        for (const Way way : {Way::north, Way::east, Way::south, Way::west}) {
            Run run = run_;
            if (axis_of(way) == Axis::column) std::swap(run.line, run.first);
            run.way = way;
            if (!inner(0) || at(run.point(-1)) != colour_) continue;
            return MoveErrors(square_, board_, colour_, any_, run).stop_inside(0);
        }
        return point(0) + " is occupied";
    }

    // What is wrong with a run of several points before its first point.
    std::string start() const {
        const bool on_edge = run_.line == 0 || run_.line == board_.edge() - 1;
        if (!inner(0) && at(0) == Colour::none) return edge_point(0);
        if (on_edge) return "no run goes along the edge: edge points are not adjacent";
        if (!inner(0)) return point(0) + " is occupied";
        if (at(-1) == colour_) return "";
        if (at(0) == Colour::none && degree(0, colour_) == 0)
            return "new stones are not prolonged in the same turn: nothing " + std::string(name(colour_)) +
                   " is adjacent to " + point(0);
        return "a run through " + point(0) + " and " + point(1) + " grows from a " + name(colour_) + " stone at " +
               point(-1) + ", and there is none";
    }

    std::string points() const {
        int last = -1, degree_then = degree(-1, colour_);  // the friendly stone before what comes next
        for (int i = 0; i < run_.length; ++i) {
            if (at(i) == colour_) return point(i) + " is " + name(colour_) + ": a run ends before a friendly stone";
            if (at(i) == Colour::none) {
                if (!inner(i)) return edge_point(i);
            } else {
                const int cut = i + block(i);
                if (cut >= run_.length) return stop_inside(i);
                if (std::string reason = why_uncut(i, cut, last, degree_then); !reason.empty()) return reason;
                i = cut;
            }
            last = i;
            degree_then = 1 + degree(i, colour_);  // the stone behind it was filled in this turn ...
            if (i == 0) --degree_then;             // ... or is on the board
        }
        return "";
    }

    // The block of enemy stones at `first` cannot be replaced from `last`, with the cut point at `cut`.
    std::string why_uncut(int first, int cut, int last, int degree_then) const {
        if (at(cut) == colour_)
            return point(cut) + " right after the enemy stones " + stones(first, cut) +
                   " is not empty: there is no cut point";
        std::string immune;
        int count = 0;
        for (int i = first; i < cut; ++i)
            if (degree(i, other(colour_)) < 2) immune.append(count++ == 0 ? "" : " ").append(point(i));
        if (count > 0) return immune + (count == 1 ? " is" : " are") + " not central: only central stones can be cut";
        if (!any_ && degree_then != 1)
            return "the stone " + point(last) + " behind the enemy stones " + stones(first, cut) + " has degree " +
                   std::to_string(degree_then) + ", not 1";
        return "";
    }

    std::string stop_inside(int first) const {
        return "the run would stop inside the enemy stones " + stones(first, first + block(first));
    }

    int block(int first) const {  // how many enemy stones stand there in a row
        int count = 0;
        while (at(first + count) == other(colour_)) ++count;
        return count;
    }

    std::string stones(int first, int end) const {
        std::string names;
        for (int i = first; i < end; ++i) names.append(i == first ? "" : " ").append(point(i));
        return names;
    }

    std::string knot() const {
        Board after = board_;
        after.put(run_, colour_);
        std::string first;
        for (int i = 0; i < run_.length; ++i) {
            const auto [column, row] = run_.point(i);
            for (const auto& [c, r] :
                 {std::pair{column - 1, row - 1}, {column, row - 1}, {column - 1, row}, {column, row}})
                if (first.empty() && after.knot(colour_, c, r)) first = knot_at(square_, c, r);
        }
        return first.empty() ? throw std::logic_error("nothing is wrong with the run") : first;
    }

    const Square& square_;
    const Board& board_;
    Colour colour_;
    bool any_;
    Run run_;
};

}  // namespace ggp::taugo
