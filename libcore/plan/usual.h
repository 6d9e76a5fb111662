/* plan/usual.h - the shapes of usual models. */
#ifndef PLAN_USUAL_H
#define PLAN_USUAL_H
#include <infer/dims.h>

struct usual {
	double params, active; /* in billions, as published */
	struct infer_dims is;
};

/* Return model i of those that sizes mean; NULL after the last. */
const struct usual *usual_of_size(int i);
/* Return the model with the name, case ignored, with or without "-Instruct", "-it", "-Chat" or "-Base" after it; NULL:
 * there is none. */
const struct usual *usual_find(const char *name);
#endif
