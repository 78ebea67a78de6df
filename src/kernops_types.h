// What RcppExports.cpp must know.
#pragma once
#include "backend.h"
