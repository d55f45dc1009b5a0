// The hexagon: cells or points with a wall round them, and their names (the centre of side 5 is E5).
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "game_state.hpp"
#include "square.hpp"

namespace ggp {

// A Point here is an index into a padded rhombus: (r + s) * (2s) + q + s for the axial coordinates (q, r), |q|, |r| and
// |q + r| at most s - 1, where s is the side. One wall column serves as the right and the left border. 0 is a wall.
inline constexpr int min_side = 2, max_side = 13;
inline constexpr int max_hexagon_area = (2 * max_side + 1) * (2 * max_side) + 1;
inline constexpr int max_hexagon_cells = 3 * max_side * (max_side - 1) + 1;

// The side, if it is one: else throws std::invalid_argument.
inline int checked_side(int side) {
    if (side < min_side || side > max_side) throw std::invalid_argument("size must be 2..13");
    return side;
}

class Hexagon {
  public:
    explicit Hexagon(int side) : side_(side), table_(table(side)) {}  // min_side..max_side

    int side() const { return side_; }
    int cells() const { return 3 * side_ * (side_ - 1) + 1; }
    int stride() const { return 2 * side_; }
    int area() const { return (2 * side_ + 1) * stride() + 1; }
    Point at(int q, int r) const { return static_cast<Point>((r + side_) * stride() + q + side_); }
    int q(Point p) const { return p % stride() - side_; }
    int r(Point p) const { return p / stride() - side_; }
    bool on_board(int q, int r) const { return within(q, r, side_); }
    bool on_edge(Point p) const { return table_->edge[p]; }  // of a point on the board: in the outermost ring

    // The outermost ring of a row of the padded rhombus, as bits from its wall column on.
    std::uint32_t edge_of_row(int row) const { return table_->edge_rows[static_cast<std::size_t>(row)]; }

    // The points on the board in such a row, likewise.
    std::uint32_t points_of_row(int row) const { return table_->point_rows[static_cast<std::size_t>(row)]; }

    // What to add to a point for its six neighbours, opposite ones three apart:
    // (+1,0), (0,+1), (-1,+1), (-1,0), (0,-1), (+1,-1).
    std::array<int, 6> steps() const { return {1, stride(), stride() - 1, -1, -stride(), 1 - stride()}; }

    const std::string& name(Point p) const { return table_->names[p]; }

    // All points in the bytewise order of their names: A1 A10 A11 .. A2.
    const std::vector<Point>& by_name() const { return table_->by_name; }

    // All points in the order of pictures: rows from the top, in a row by column.
    const std::vector<Point>& by_row() const { return table_->by_row; }

    // Reads a point in any case. Throws IllegalMove with the reason; `text` should be of bounded length.
    Point parse(std::string_view text) const;

  private:
    struct Table {
        std::array<std::string, max_hexagon_area> names;
        std::array<bool, max_hexagon_area> edge{};
        std::array<std::uint32_t, 2 * max_side + 1> edge_rows{}, point_rows{};
        std::vector<Point> by_name, by_row;
    };
    static constexpr bool within(int q, int r, int side) {
        return std::abs(q) < side && std::abs(r) < side && std::abs(q + r) < side;
    }
    static const Table* table(int side);  // made once for each side

    int side_;
    const Table* table_;
};

inline Point Hexagon::parse(std::string_view text) const {
    const auto [column, row] = parse_vertex(text);  // from 0
    const int q = column - side_ + 1, r = row - side_ + 1;
    if (!on_board(q, r))
        throw IllegalMove(std::string(1, column_letters[static_cast<std::size_t>(column)]) + std::to_string(row + 1) +
                          " is not on the board: a hexagon with " + std::to_string(side_) + " on a side");
    return at(q, r);
}

inline const Hexagon::Table* Hexagon::table(int side) {
    static std::array<std::once_flag, max_side + 1> made;
    static std::array<std::unique_ptr<Table>, max_side + 1> tables;
    const auto index = static_cast<std::size_t>(side);
    std::call_once(made[index], [&] {
        auto table = std::make_unique<Table>();
        for (int r = side - 1; r > -side; --r)
            for (int q = 1 - side; q < side; ++q) {
                if (!within(q, r, side)) continue;
                const auto p = static_cast<Point>((r + side) * (2 * side) + q + side);
                table->names[p] = column_letters[static_cast<std::size_t>(q + side - 1)] + std::to_string(r + side);
                table->edge[p] = !within(q, r, side - 1);
                table->edge_rows[static_cast<std::size_t>(r + side)] |= std::uint32_t{table->edge[p]} << (q + side);
                table->point_rows[static_cast<std::size_t>(r + side)] |= std::uint32_t{1} << (q + side);
                table->by_row.push_back(p);
            }
        table->by_name = table->by_row;
        std::sort(table->by_name.begin(), table->by_name.end(),
                  [&](Point a, Point b) { return table->names[a] < table->names[b]; });
        tables[index] = std::move(table);
    });
    return tables[index].get();
}

// A board as text and back: a character for each point in the order of pictures.
template <class Kind>
std::string write_board(const Hexagon& hexagon, std::string_view letters, Kind kind) {
    std::string cells;
    for (const Point p : hexagon.by_row()) cells += letters[static_cast<std::size_t>(kind(p))];
    return cells;
}

// Calls stand(point, kind) for each point of such a text. Throws std::invalid_argument if it is not such a text.
template <class Stand>
void read_board(const Hexagon& hexagon, std::string_view letters, std::string_view cells, Stand stand) {
    if (cells.size() != hexagon.by_row().size())
        throw std::invalid_argument("a board has " + std::to_string(hexagon.cells()) + " characters");
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::size_t kind = letters.find(cells[i]);
        if (kind == std::string_view::npos)
            throw std::invalid_argument("a board is written with " + std::string(letters));
        stand(hexagon.by_row()[i], kind);
    }
}

}  // namespace ggp
