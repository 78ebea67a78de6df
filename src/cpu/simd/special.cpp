// The special functions of the CPU, for all instruction sets.
#define KERNOPS_SPECIAL(function, value) \
  double function { return value; }
#include <kernops/special.h>
