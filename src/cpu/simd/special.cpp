// The special functions of the CPU, whatever its instruction set.
#define KERNOPS_SPECIAL(function, value) \
  double function { return value; }
#include <kernops/special.h>
