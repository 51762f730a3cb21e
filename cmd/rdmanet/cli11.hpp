// CLI11 without the static initialiser of <iostream>: it would set up eight streams and a locale in every plugin call,
// a tenth of the time that VERSION takes. Whoever parses a command line calls initialise_streams() first.
#pragma once

#include <istream>
#include <ostream>

// libstdc++ 12's include guard; should it get another name, <iostream> is merely included.
#define _GLIBCXX_IOSTREAM 1 // NOLINT(bugprone-reserved-identifier)
namespace std {
extern istream cin;
extern ostream cout;
extern ostream cerr;
extern ostream clog;
} // namespace std

#include <CLI/CLI.hpp>

namespace rdmanet::cmd {

inline void initialise_streams() {
    static const std::ios_base::Init init;
}

} // namespace rdmanet::cmd
