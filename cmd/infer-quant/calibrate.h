/* infer-quant/calibrate.h - the calibration text of GPTQ. */
#ifndef INFER_QUANT_CALIBRATE_H
#define INFER_QUANT_CALIBRATE_H
#include "quant.h"
#include "common/input.h"

struct calibrate {
	infer_gptq *gptq;
	infer_model *model;
	infer_engine *engine;
	struct buf text;
	char sha256[65];            /* of the text */
	struct input_digest digest; /* of the files of the text */
	int32_t *ids;
};

struct infer_solver solver(void); /* LAPACK, for infer_gptq_new */
/* Open the model at path, read the text, and list the inputs of its weights.  Call
 * calibrate_close even if it fails.  recipe: NULL: none. */
int calibrate_open(struct calibrate *c, const struct quant_opts *o,
                   const struct infer_recipe_info *recipe, const char *path, infer_error *err);
void calibrate_close(struct calibrate *c);
#endif
