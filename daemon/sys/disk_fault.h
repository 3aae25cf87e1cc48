// A disk that fails on demand, for tests: SHMBLOOM_FAIL=<operation>:<part of the path>:<errno>:<first>:<count>, as in
// "sync:journal:EIO:3:1": the third sync of a file whose path holds "journal" fails with EIO, and no other. Operations are
// those of Disk. Without the variable it costs a comparison.
#pragma once

namespace shmbloom {

// True, with errno set, when this operation is to fail. `name`: what is done in the folder `fd`; null: fd is a file.
bool disk_fault(const char *operation, int fd, const char *name = nullptr);

} // namespace shmbloom
