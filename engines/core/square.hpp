// The square grid: points with a wall round them, and their names (A1 at the lower left, no column I).
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "game_state.hpp"

namespace ggp {

// A point is an index into a padded board: (row + 1) * (edge + 1) + column + 1, rows and columns from 0.
// One wall column serves as the right and the left border. 0 is a wall, and therefore free to mean "no point".
using Point = std::uint16_t;

inline constexpr int min_edge = 2, max_edge = 25;
inline constexpr int max_area = (max_edge + 2) * (max_edge + 1) + 1;

// The edge, if it is one: else throws std::invalid_argument.
inline int checked_edge(int edge) {
    if (edge < min_edge || edge > max_edge) throw std::invalid_argument("size must be 2..25");
    return edge;
}

class Square {
  public:
    explicit Square(int edge) : edge_(edge), table_(table(edge)) {}  // min_edge..max_edge

    int edge() const { return edge_; }
    int stride() const { return edge_ + 1; }
    int area() const { return (edge_ + 2) * (edge_ + 1) + 1; }
    Point at(int column, int row) const { return static_cast<Point>((row + 1) * stride() + column + 1); }
    int column(Point p) const { return p % stride() - 1; }
    int row(Point p) const { return p / stride() - 1; }

    // "D4", from a table: points are named in every answer.
    const std::string& name(Point p) const { return table_->names[p]; }

    // All points in the bytewise order of their names: A1 A10 A11 .. A2.
    const std::vector<Point>& by_name() const { return table_->by_name; }

    // Reads a vertex in any case. Throws IllegalMove with the reason; `text` should be of bounded length.
    Point parse(std::string_view text) const;

  private:
    struct Table {
        std::array<std::string, max_area> names;
        std::vector<Point> by_name;
    };
    static const Table* table(int edge);  // made once for each edge

    int edge_;
    const Table* table_;
};

inline constexpr std::string_view column_letters = "ABCDEFGHJKLMNOPQRSTUVWXYZ";

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
inline char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

// True if `text` is `word` (given in lower case) in any case.
inline bool is_word(std::string_view text, std::string_view word) {
    if (text.size() != word.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i)
        if (lower(text[i]) != word[i]) return false;
    return true;
}

// "D4" -> column and row, both from 0; the column is one of the 25, the row 0..98. Throws IllegalMove with the reason.
inline std::pair<int, int> parse_vertex(std::string_view text) {
    const auto unreadable = [] { return IllegalMove("not a move: a point is written like D4"); };
    if (text.size() < 2 || text.size() > 3 || text[1] == '0') throw unreadable();
    int row = 0;
    for (const char c : text.substr(1)) {
        if (c < '0' || c > '9') throw unreadable();
        row = row * 10 + (c - '0');
    }
    const char letter = upper(text[0]);
    if (letter == 'I') throw IllegalMove("there is no column I: the letters skip it");
    const std::size_t column = column_letters.find(letter);
    if (column == std::string_view::npos) throw unreadable();
    return {static_cast<int>(column), row - 1};
}

inline Point Square::parse(std::string_view text) const {
    const auto [column, row] = parse_vertex(text);
    if (column >= edge_ || row >= edge_) {
        const std::string n = std::to_string(edge_);
        throw IllegalMove(column_letters[static_cast<std::size_t>(column)] + std::to_string(row + 1) +
                          " is not on the board: the board is " + n + "x" + n);
    }
    return at(column, row);
}

inline const Square::Table* Square::table(int edge) {
    static std::array<std::once_flag, max_edge + 1> made;
    static std::array<std::unique_ptr<Table>, max_edge + 1> tables;
    const auto index = static_cast<std::size_t>(edge);
    std::call_once(made[index], [&] {
        auto table = std::make_unique<Table>();
        for (int column = 0; column < edge; ++column)
            for (int row = 0; row < edge; ++row) {
                const auto p = static_cast<Point>((row + 1) * (edge + 1) + column + 1);
                table->names[p] = column_letters[static_cast<std::size_t>(column)] + std::to_string(row + 1);
                table->by_name.push_back(p);
            }
        std::sort(table->by_name.begin(), table->by_name.end(),
                  [&](Point a, Point b) { return table->names[a] < table->names[b]; });
        tables[index] = std::move(table);
    });
    return tables[index].get();
}

}  // namespace ggp
