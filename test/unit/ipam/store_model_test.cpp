// Random operations on the store and on the model of the fuzz target.
#include <catch2/catch.hpp>

#include <array>
#include <random>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size); // fuzz/leases_fuzz.cpp

TEST_CASE("the store behaves like a map of addresses") {
    std::mt19937 random(1);
    for (int round = 0; round < 100; ++round) {
        std::array<unsigned char, 128> input{};
        for (unsigned char& byte : input) byte = static_cast<unsigned char>(random());
        (void)LLVMFuzzerTestOneInput(input.data(), input.size()); // which aborts
    }
}
