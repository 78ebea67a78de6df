// NA among the values of segments.
#pragma once
#include "segments/segments.h"

namespace kernops {

// Results that are NaN become NA where one of their values was NA; engines know NaN alone.
void mark_missing(const SegmentRequest& request);

}  // namespace kernops
