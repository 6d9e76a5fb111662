/* test_tiles.cpp - a product with few rows reads every byte of its tiles once, so tiles may be
 * at most 1.05 times as large as the file's blocks of the same weights. */
#include "gpu_test.h"
#include <infer/type.h>
#include "backend/cuda/launch.h"

static void test_tile_bytes(void)
{
	static const double most = 1.05;
	int n = 0;

	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		const struct gpu_type *g = gpu_type_find(t);
		const struct infer_type_info *i = infer_type_info(t);
		double file;

		if (!g)
			continue;
		file = (double)GPU_GROUP * GPU_BLOCK / (double)i->block * (double)i->block_bytes;
		printf("# %-8s %5u bytes a tile, %4.0f in the file: %.3f\n", i->name, g->tile_bytes,
		       file, g->tile_bytes / file);
		expect(g->tile_bytes <= most * file, "%s: %u bytes for %.0f", i->name,
		       g->tile_bytes, file);
		n++;
	}
	expect(n > 0, "there is no type");
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_tile_bytes);
	return end_tests();
}
