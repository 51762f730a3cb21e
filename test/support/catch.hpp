// Catch2 with what reporters need of it: what tests precompile, too.
#pragma once

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
