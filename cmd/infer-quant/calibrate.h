/* infer-quant/calibrate.h - the text that GPTQ reads. */
#ifndef INFER_QUANT_CALIBRATE_H
#define INFER_QUANT_CALIBRATE_H
#include "quant.h"
#include "common/input.h"

struct calibrate {
	infer_gptq *gptq;
	infer_model *model;
	infer_engine *engine;
	struct buf text;
	char sha256[65];            /* of text */
	struct input_digest digest; /* of its files */
	int32_t *ids;
};

struct infer_solver solver(void);
/* Open the model at path, and read the part of the text that is used. */
int calibrate_open(struct calibrate *c, const struct quant_opts *o,
                   const struct infer_recipe_info *recipe, const char *path, infer_error *err);
void calibrate_close(struct calibrate *c);
#endif
