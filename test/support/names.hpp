// What a test demands of a message: that it names the code, the key, the value, the cure. How the message says it may
// change from day to day.
#pragma once

#include "support/catch.hpp"

#include <string>
#include <vector>

namespace rdmanet::test {

/// Where `thing` stands in `text`, not as a part of a longer word, number, address or key; the last of such places.
/// std::string::npos if there is none.
[[nodiscard]] std::size_t last_place(const std::string& text, const std::string& thing);

/// True if `text` has `thing`. A thing that ends with "..." is how it begins.
[[nodiscard]] bool names(const std::string& text, const std::string& thing);

/// Matches a text that names all of these things, in any order.
class Names : public Catch::MatcherBase<std::string> {
public:
    template <typename... Things>
    explicit Names(const Things&... things) : things_{std::string(things)...} {}

    bool match(const std::string& text) const override;
    [[nodiscard]] std::string describe() const override;

private:
    std::vector<std::string> things_;
};

} // namespace rdmanet::test
