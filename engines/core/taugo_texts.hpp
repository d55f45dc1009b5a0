// The moves of taugo as texts, both ways: `D5+D6+D7` and the run that it names. Knows the board's shape, not its stones.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "square.hpp"
#include "taugo_board.hpp"

namespace ggp::taugo {

// Every run is a part of one of the 4 * edge lines, written out once for each edge: texts are never put together.
class Texts {
  public:
    static const Texts& of(int edge) {
        static std::array<std::once_flag, max_edge + 1> made;
        static std::array<std::unique_ptr<const Texts>, max_edge + 1> all;
        const auto index = static_cast<std::size_t>(edge);
        std::call_once(made[index], [&] { all[index].reset(new Texts(edge)); });
        return *all[index];
    }

    std::string_view of(Run run) const {
        if (run.length == 0) return run == pass ? "pass" : "swap-sides";
        const Line& line = lines_[static_cast<std::size_t>(run.way)][run.line];
        const auto first = static_cast<std::size_t>(step_of(run.way) > 0 ? run.first : edge_ - 1 - run.first);
        const std::size_t start = line.starts[first];
        return std::string_view(line.text).substr(start, line.starts[first + run.length] - 1 - start);
    }

  private:
    struct Line {
        std::string text;                                // the points of the line in the order of the way, with + between
        std::array<std::uint16_t, max_edge + 1> starts;  // where each begins; last, where the next would
    };

    explicit Texts(int edge) : edge_(edge) {
        const Square square(edge);
        for (const Way way : {Way::east, Way::west, Way::north, Way::south})
            for (int number = 0; number < edge; ++number) {
                Line& line = lines_[static_cast<std::size_t>(way)][static_cast<std::size_t>(number)];
                const Run run{way, static_cast<std::uint8_t>(number),
                              static_cast<std::uint8_t>(step_of(way) > 0 ? 0 : edge - 1), 0};
                for (int i = 0; i < edge; ++i) {
                    const auto [column, row] = run.point(i);
                    line.starts[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(line.text.size());
                    line.text += square.name(square.at(column, row)) + "+";
                }
                line.starts[static_cast<std::size_t>(edge)] = static_cast<std::uint16_t>(line.text.size());
            }
    }

    int edge_;
    std::array<std::array<Line, max_edge>, 4> lines_;
};

// Reads points joined by + that follow each other in a line. Throws IllegalMove with the reason.
inline Run read_run(std::string_view text, const Square& square, const Board& board) {
    std::vector<std::pair<int, int>> points;
    for (bool more = true; more;) {
        const std::size_t end = text.find('+');
        const Point p = square.parse(text.substr(0, end));
        const std::pair point{square.column(p), square.row(p)};
        if (board.is_corner(point.first, point.second))
            throw IllegalMove(square.name(p) + " is a corner: the board has no corner points");
        if (!points.empty()) {
            const auto [column, row] = points.back();
            const int dx = point.first - column, dy = point.second - row;
            const bool straight = points.size() < 2 || (dx == column - points.end()[-2].first &&
                                                        dy == row - points.end()[-2].second);
            if (dx * dx + dy * dy != 1 || !straight)
                throw IllegalMove(square.name(p) + " does not follow " + square.name(square.at(column, row)) +
                                  ": the points of a run lie side by side in one line, in the order of filling");
        }
        points.push_back(point);
        more = end != std::string_view::npos;
        if (more) text.remove_prefix(end + 1);
    }
    const auto [column, row] = points.front();
    Run run{Way::east, static_cast<std::uint8_t>(row), static_cast<std::uint8_t>(column),
            static_cast<std::uint8_t>(points.size())};
    if (points.size() == 1) return run;
    const auto [to_column, to_row] = points.back();
    if (to_row == row) run.way = to_column > column ? Way::east : Way::west;
    else run = {to_row > row ? Way::north : Way::south, run.first, run.line, run.length};
    return run;
}

}  // namespace ggp::taugo
