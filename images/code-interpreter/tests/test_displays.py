import os
import tempfile
import unittest

from IPython.core.interactiveshell import InteractiveShell

from boxyard_code.displays import load_ipython_extension


class SavedPictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shell = InteractiveShell.instance()
        load_ipython_extension(cls.shell)
        cls.shell.user_ns["at"] = os.path.join(tempfile.mkdtemp(), "x.png")

    def value_of(self, code):
        done = self.shell.run_cell(code)
        done.raise_error()
        return done.result

    def test_a_picture_that_is_saved_last_is_the_result(self):
        picture = self.value_of("from PIL import Image\nimage = Image.new('RGB', (3, 2), 'red')\nimage.save(at, format='PNG')")
        self.assertEqual(picture.size, (3, 2))
        self.assertTrue(os.path.getsize(self.shell.user_ns["at"]))
        self.assertTrue(self.shell.display_formatter.format(picture)[0]["image/png"])

    def test_a_picture_that_is_saved_before_the_end_is_not(self):
        self.assertEqual(self.value_of("image = __import__('PIL.Image').Image.new('L', (1, 1))\nimage.save(at)\n1"), 1)
        self.assertIsNone(self.value_of("for _ in range(2):\n    image.save(at)"))

    def test_save_of_other_objects_keeps_its_result(self):
        own = "class Own:\n    def save(self, a, b=0):\n        return a + b\nown = Own()\n"
        self.assertEqual(self.value_of(own + "own.save(1, b=2)"), 3)
        self.assertEqual(self.value_of("own.save(*[1], **{'b': 4})"), 5)
        failed = self.shell.run_cell("\nown.save()").error_in_exec
        self.assertIsInstance(failed, TypeError)


if __name__ == "__main__":
    unittest.main()
