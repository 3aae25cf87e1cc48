// The same in C++: a program in either language sees the same structs.
#include "abi.c"
