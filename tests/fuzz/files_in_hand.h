// What the kernel does for the library between a path and a mapping, done in this process: a lookup's way to control and
// segments then costs no system call, and a fuzz run of it a hundredth of the time. Stricter than the kernel, too: a byte
// behind what is mapped, or of what is mapped no more, is seen by the address sanitizer, and every descriptor is counted.
//
// The files are real ones, as world.h makes them; their status, and the memory that readers are given, are taken when
// they are named here. No other shared memory is there, and nobody listens at a socket. All other paths and descriptors go
// to the kernel. Linked in by --wrap.
#pragma once

#include <cstddef>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>

namespace shmbloom::files_in_hand {

// At a path as open() is given it: a folder, whose only file is `control`; or a name as shm_open() is.
void add_folder(const std::string &path, const std::string &control);
void add_shared_memory(const std::string &name);

std::size_t open_descriptors();

} // namespace shmbloom::files_in_hand
