#include "verify_stage.hpp"

#include "support/process.hpp"

namespace rdmanet::test {

std::string verify(const std::string& arguments) {
    return shell(concat(binary(), " verify ", arguments, kPatient, "2>/tmp/verify.err; echo $?"));
}

std::string values(const std::string& arguments, const std::string& expressions) {
    return shell(
        concat(binary(), " verify --json ", arguments, kPatient, "2>/tmp/verify.err | jq -cr '", expressions, '\''));
}

std::string faults(const std::string& arguments) {
    return values(arguments, "(.checks[]|select(.result!=\"ok\")|\"\\(.result) \\(.check): \\(.what): \\(.fix)\"),"
                             "(.cause//empty|\"failure \\(.stage): \\(.what): \\(.fix)\"),.exitStatus");
}

} // namespace rdmanet::test
