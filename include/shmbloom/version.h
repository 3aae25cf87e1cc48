/* The only source of the version; CMakeLists.txt reads it here. */
#ifndef SHMBLOOM_VERSION_H
#define SHMBLOOM_VERSION_H

#define SHMBLOOM_VERSION "0.1.0"

#endif
