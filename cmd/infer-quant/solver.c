/* infer-quant/solver.c - the linear algebra of GPTQ, by OpenBLAS. */
#include "calibrate.h"

void openblas_set_num_threads(int n);
char *openblas_get_corename(void);
/* Fortran functions of LAPACK. Matrices are column-major there: our rows are its columns, and our lower
 * triangle is its upper one. */
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t);
void dtrtri_(const char *uplo, const char *diag, const int *n, double *a, const int *lda, int *info,
             size_t, size_t);

static int factor(double *a, int n)
{
	int info;

	dpotrf_("U", &n, a, &n, &info, 1);
	return info;
}

static int invert(double *a, int n)
{
	int info;

	dtrtri_("U", "N", &n, a, &n, &info, 1, 1);
	return info;
}

struct infer_solver solver(void)
{
	openblas_set_num_threads(1);
	return (struct infer_solver){ openblas_get_corename(), factor, invert };
}
