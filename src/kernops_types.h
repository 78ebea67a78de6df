// What RcppExports.cpp must know.
#pragma once
#include "segments/segments.h"
#include "run/pairs.h"
