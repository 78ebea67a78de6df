// What RcppExports.cpp must know.
#pragma once
#include "segments.h"
