import numpy as np
from tensorflow.keras.layers import Dense, Input, LeakyReLU
from tensorflow.keras.models import Model, Sequential
from tensorflow.keras.optimizers import Adam


class GAN():
    def __init__(self):
        self.latent_dim = 32
        self.data_dim = 196
        self.discriminator = self.build_discriminator()
        self.discriminator.compile(loss='binary_crossentropy', optimizer=Adam(0.0002, 0.5))
        self.generator = self.build_generator()
        z = Input(shape=(self.latent_dim,))
        img = self.generator(z)
        frozen = self.build_discriminator()
        frozen.trainable = False
        self.frozen = frozen
        self.combined = Model(z, frozen(img))
        self.combined.compile(loss='binary_crossentropy', optimizer=Adam(0.0002, 0.5))

    def build_generator(self):
        return Sequential([
            Input((self.latent_dim,)),
            Dense(64), LeakyReLU(0.2),
            Dense(128), LeakyReLU(0.2),
            Dense(self.data_dim, activation='tanh')])

    def build_discriminator(self):
        return Sequential([
            Input((self.data_dim,)),
            Dense(128), LeakyReLU(0.2),
            Dense(64), LeakyReLU(0.2),
            Dense(1, activation='sigmoid')])

    def train(self, epochs, batch_size=32):
        X_train = np.random.rand(5000, self.data_dim) * 2 - 1
        valid = np.ones((batch_size, 1))
        fake = np.zeros((batch_size, 1))
        for epoch in range(epochs):
            idx = np.random.randint(0, X_train.shape[0], batch_size)
            imgs = X_train[idx]
            noise = np.random.normal(0, 1, (batch_size, self.latent_dim))
            gen_imgs = self.generator.predict(noise, verbose=0)
            d_loss_real = self.discriminator.train_on_batch(imgs, valid)
            d_loss_fake = self.discriminator.train_on_batch(gen_imgs, fake)
            d_loss = 0.5 * np.add(d_loss_real, d_loss_fake)
            if epoch % 50 == 0:
                self.frozen.set_weights(self.discriminator.get_weights())
            noise = np.random.normal(0, 1, (batch_size, self.latent_dim))
            g_loss = self.combined.train_on_batch(noise, valid)
            if epoch % 100 == 0:
                print("%d [D loss: %f] [G loss: %f]" % (epoch, d_loss, g_loss))


if __name__ == '__main__':
    gan = GAN()
    gan.train(epochs=30000, batch_size=32)
