#include "dense_engine.h"
