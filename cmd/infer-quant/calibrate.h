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
	char sha256[65];            /* SHA-256 of the text, in hexadecimal */
	struct input_digest digest; /* digest of the files that the text was read from */
	int32_t *ids;
};

struct infer_solver solver(void); /* OpenBLAS's LAPACK, for infer_gptq_new */
/* Open the model at path, read the text, and find which matrices have the same inputs. The caller calls
 * calibrate_close, on failure too. recipe: engine options that *o does not set. */
int calibrate_open(struct calibrate *c, const struct quant_opts *o,
                   const struct infer_recipe_info *recipe, const char *path, infer_error *err);
void calibrate_close(struct calibrate *c);
#endif
