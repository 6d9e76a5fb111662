/* backend/cuda/types.c - the table of weight types. */
#include "backend/cuda/launch.h"

#define GPU_TYPE(q) extern const struct gpu_type gpu_type_##q;
#define GPU_TYPE_OTHER(q) GPU_TYPE(q)
#include "backend/cuda/type_list.h"
#undef GPU_TYPE

const struct gpu_type *gpu_type_find(int type)
{
#define GPU_TYPE(q) &gpu_type_##q,
	static const struct gpu_type *const types[] = {
#include "backend/cuda/type_list.h"
	};
#undef GPU_TYPE

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i]->type == type)
			return types[i];
	return NULL;
}

const struct gpu_type *gpu_type_stored(int type)
{
	static const uint8_t recoded[] = {
		INFER_IQ2_XXS, INFER_IQ2_XS, INFER_IQ2_S, INFER_IQ3_XXS, INFER_IQ3_S, INFER_IQ1_S,
		INFER_IQ1_M,   INFER_TQ1_0,  INFER_TQ2_0, INFER_NVFP4,   INFER_Q1_0,  INFER_Q2_0,
	};

	for (size_t i = 0; i < sizeof recoded / sizeof *recoded; i++)
		if (recoded[i] == type)
			return gpu_type_find(GPU_TYPE_X8);
	return gpu_type_find(type);
}
