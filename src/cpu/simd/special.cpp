// The special functions that all instruction sets of the CPU share.
#define KERNOPS_SPECIAL(function, value) \
  double function { return value; }
#include <kernops/special.h>
