// 250 ticks a second in other units.
#pragma once
#define HZ_TO_MSEC_NUM 4
#define HZ_TO_MSEC_DEN 1
#define MSEC_TO_HZ_NUM 1
#define MSEC_TO_HZ_DEN 4
#define HZ_TO_USEC_NUM 4000
#define HZ_TO_USEC_DEN 1
#define USEC_TO_HZ_NUM 1
#define USEC_TO_HZ_DEN 4000
