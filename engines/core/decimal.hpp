// Shortest decimals for results and scores: 3 and 3.5, never 3.0 and never 4.699999.
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string>

namespace ggp {

// The number of decimals in the shortest text that reads back as `value` (a komi).
inline int decimals(double value) {
    std::array<char, 400> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed).ptr;
    const auto point = std::find(buffer.data(), end, '.');
    return point == end ? 0 : static_cast<int>(end - point - 1);
}

// `value` with at most `places` decimals and no needless zeros. "0" also for a negative zero.
inline std::string decimal(double value, int places) {
    std::array<char, 400> buffer;
    const auto end =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, places).ptr;
    std::string text(buffer.data(), end);
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text == "-0" ? "0" : text;
}

// `value`, a sum of numbers with at most `places` decimals, without the noise of binary fractions.
inline double tidy(double value, int places) { return std::strtod(decimal(value, places).c_str(), nullptr); }

}  // namespace ggp
