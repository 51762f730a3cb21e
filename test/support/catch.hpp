// Catch2 with the parts that reporters need. Tests precompile this header.
#pragma once

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
