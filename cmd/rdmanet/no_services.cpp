// Functions of the C library that the static libraries name and rdmanet never needs. In a static executable most of
// them would load shared libraries of the same C library, which a node need not have: the linker warns of each. With
// --wrap=NAME it takes __wrap_NAME in their place (ld(1)).
//
// - dlopen(): OpenSSL's providers.
// - getaddrinfo(), gethostbyname(), getnameinfo(): libnl's nl_addr_info(), and OpenSSL's own sockets. Module `http`
//   has a resolver.
// - getprotobyname(), getprotobynumber(): libnl's nl_str2ip_proto() and nl_ip_proto2str().
#include <netdb.h>

extern "C" {

void* __wrap_dlopen(const char* /*file*/, int /*mode*/) {
    return nullptr;
}

int __wrap_getaddrinfo(const char* /*node*/, const char* /*service*/, const addrinfo* /*hints*/, addrinfo** /*found*/) {
    return EAI_FAIL;
}

void __wrap_freeaddrinfo(addrinfo* /*found*/) {}

int __wrap_getnameinfo(const sockaddr* /*address*/, socklen_t /*size*/, char* /*host*/, socklen_t /*most*/,
                       char* /*service*/, socklen_t /*most_of_service*/, int /*flags*/) {
    return EAI_FAIL;
}

hostent* __wrap_gethostbyname(const char* /*name*/) {
    return nullptr;
}

protoent* __wrap_getprotobyname(const char* /*name*/) {
    return nullptr;
}

protoent* __wrap_getprotobynumber(int /*number*/) {
    return nullptr;
}
}
