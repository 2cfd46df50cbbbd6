"""Which corruptions the published sets hold, in their order."""

CIFAR_C = (
    *("gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur"),
    *("motion_blur", "zoom_blur", "snow", "frost", "fog", "brightness", "contrast"),
    *("elastic_transform", "pixelate", "jpeg_compression"),
)
"""CIFAR-10-C and CIFAR-100-C: 15 corruptions, each in five severities."""

MNIST_C = (
    *("shot_noise", "impulse_noise", "glass_blur", "motion_blur", "shear", "scale", "rotate"),
    *("brightness", "translate", "stripe", "fog", "spatter", "dotted_line", "zigzag"),
    "canny_edges",
)
"""MNIST-C: 15 corruptions, each in one severity."""
