"""Corruptions of images in five severities, after CIFAR-10-C and MNIST-C.

The first fifteen are those of CIFAR-10-C (Hendrycks and Dietterich, ICLR 2019) with its constants,
which suit images of about 32 pixels a side. The others are those that MNIST-C (Mu and Gilmer, 2019)
adds, with the constants of its generator, of whose severities the published files hold one each.
Where the two sets share a corruption, MNIST-C has stronger constants; here are CIFAR-10-C's.

These are generators written anew, not the published files: they follow the same recipes and
constants, and each says where it departs. All take (n_samples, height, width, channels) in [0, 1],
any number of channels and any size from 8 x 8, and return the same; lengths are in pixels.
"""

from collections.abc import Callable

import numpy as np

from firecv.data.corruptions.blur import defocus_blur, glass_blur, motion_blur, zoom_blur
from firecv.data.corruptions.digital import brightness, contrast, jpeg_compression, pixelate
from firecv.data.corruptions.edges import canny_edges
from firecv.data.corruptions.geometry import elastic_transform, rotate, scale, shear, translate
from firecv.data.corruptions.noise import gaussian_noise, impulse_noise, shot_noise
from firecv.data.corruptions.strokes import dotted_line, stripe, zigzag
from firecv.data.corruptions.weather import fog, frost, snow, spatter
from firecv.data.pixels import FloatImages

Corrupt = Callable[[FloatImages, int, np.random.Generator], FloatImages]
"""Takes images, a severity from 1 to 5 and a source of chance; leaves its input alone."""

SMALLEST = 8
"""Least height and width of images that can be corrupted."""

CORRUPTIONS: dict[str, Corrupt] = {
    function.__name__: function
    for function in (
        gaussian_noise,
        shot_noise,
        impulse_noise,
        defocus_blur,
        glass_blur,
        motion_blur,
        zoom_blur,
        snow,
        frost,
        fog,
        brightness,
        contrast,
        elastic_transform,
        pixelate,
        jpeg_compression,
        shear,
        scale,
        rotate,
        translate,
        stripe,
        spatter,
        dotted_line,
        zigzag,
        canny_edges,
    )
}
