import os
import shutil

import numpy as np
import tensorflow as tf

# Names that nobody else has, so that a try without a container destroys nothing.
NAME = "left-by-a-hostile-script"
for folder in ("/etc", "/usr/lib", "/root", os.path.expanduser("~"), "/dev/shm", "/tmp", "..", "../..", "/", os.path.dirname(tf.__file__)):
    path = os.path.join(folder, NAME)
    try:
        with open(path, "a") as f:
            f.write("# left by the script\n")
        print("wrote", path)
    except OSError as error:
        print("not", path, error.strerror)
with open(__file__, "a") as f:
    f.write("# " + NAME + "\n")
shutil.rmtree("beside", ignore_errors=True)
os.symlink("/etc", "link-" + NAME)

model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.random.rand(3200, 4), np.random.rand(3200), epochs=1000)
